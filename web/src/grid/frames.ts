/** The longest time that a frame is held. */
const MAX_HELD_MS = 50;

/** Draws at most once a frame. Can hold a frame, so that changes that follow soon are drawn together. */
export class Frames {
  readonly #draw: () => void;
  #frame = 0;
  #held: ReturnType<typeof setTimeout> | undefined;

  constructor(draw: () => void) {
    this.#draw = draw;
  }

  /** Draws when the next frame begins. */
  schedule(): void {
    if (this.#held !== undefined || this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => this.drawNow());
  }

  /** Draws at once, held or not. */
  drawNow(): void {
    this.#cancel();
    this.#draw();
  }

  /** Draws nothing before {@link release}. */
  hold(): void {
    this.#cancel();
    this.#held ??= setTimeout(() => this.release(), MAX_HELD_MS);
  }

  release(): void {
    clearTimeout(this.#held);
    this.#held = undefined;
    this.schedule();
  }

  #cancel(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
}
