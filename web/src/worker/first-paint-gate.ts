import { settlesWithin } from "../rpc/event-loop.js";

/** How long the schema may wait for the first rows. */
const MAX_AWAITED_MS = 50;
/** How long the first rows may take to be painted before more is read. */
const MAX_LOOK_MS = 250;

/** Leaves the processor to a page that shows a table, until it has painted the first rows. */
export class FirstLook {
  /** Whether the page waits for rows to show. */
  isWanted = false;
  #onPainted: () => void = () => undefined;
  #awaiting: ReturnType<typeof setTimeout> | undefined;

  /** Whether the schema has waited for rows. */
  get isAwaited(): boolean {
    return this.#awaiting !== undefined;
  }

  /**
   * Whether the page is better told the schema with its first rows, which one frame shows then; when
   * these do not come soon, `onLate` is called.
   */
  awaitsRows(onLate: () => void): boolean {
    if (this.isWanted) this.#awaiting ??= setTimeout(onLate, MAX_AWAITED_MS);
    return this.isWanted;
  }

  /** The first rows are on the screen. */
  painted(): void {
    this.#onPainted();
  }

  /** Resolves once they are, or nobody looks. */
  async pause(): Promise<void> {
    this.isWanted = false;
    const painted = new Promise<void>((resolve) => {
      this.#onPainted = resolve;
    });
    await settlesWithin(painted, MAX_LOOK_MS);
  }
}
