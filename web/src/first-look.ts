import { settlesWithin } from "./turns.js";

/** How long the first rows may take to be painted before more is read. */
const MAX_LOOK_MS = 250;

/** Leaves the processor to a page that shows a table, until it has painted the first rows. */
export class FirstLook {
  /** Whether the page waits for rows to show. */
  isWanted = false;
  #onPainted: () => void = () => undefined;

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
