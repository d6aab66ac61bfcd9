import { settlesWithin } from "../rpc/event-loop.js";

/** How long the schema report may wait for the first rows. */
const MAX_AWAITED_MS = 50;
/** How long reading waits for the first rows to be painted. */
const MAX_PAINT_MS = 250;

/** Pauses reading until the page has painted the first rows, so that painting gets the processor. */
export class FirstPaintGate {
  /** Whether the page has yet to paint rows. */
  isWanted = false;
  #onPainted: () => void = () => undefined;
  #awaiting: ReturnType<typeof setTimeout> | undefined;

  /** Whether the schema has waited for rows. */
  get isAwaited(): boolean {
    return this.#awaiting !== undefined;
  }

  /**
   * Whether to report the schema together with the first rows, so that one frame shows both. If the
   * rows do not arrive soon, `onLate` is called.
   */
  awaitsRows(onLate: () => void): boolean {
    if (this.isWanted) this.#awaiting ??= setTimeout(onLate, MAX_AWAITED_MS);
    return this.isWanted;
  }

  /** Call it when the first rows are painted. */
  painted(): void {
    this.#onPainted();
  }

  /** Resolves once the first rows are painted, after 250 ms at the latest. */
  async pause(): Promise<void> {
    this.isWanted = false;
    const painted = new Promise<void>((resolve) => {
      this.#onPainted = resolve;
    });
    await settlesWithin(painted, MAX_PAINT_MS);
  }
}
