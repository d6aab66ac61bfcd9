import { settlesWithin } from "./turns.js";

/** How long the first rows may take to be looked at before more is read. */
const MAX_LOOK_MS = 200;
/** What painting them takes where the processor is theirs: some frames. */
const PAINT_MS = 50;

/** Leaves the processor to a page that shows a table, until it has painted the first rows. */
export class FirstLook {
  /** Whether the page waits for rows to show. */
  isWanted = false;
  #onLook: () => void = () => undefined;

  /** Rows have been looked at. */
  look(): void {
    this.#onLook();
  }

  /** Resolves once they were and had time to be painted, or nobody looks. */
  async pause(): Promise<void> {
    this.isWanted = false;
    const looked = new Promise<void>((resolve) => {
      this.#onLook = resolve;
    });
    if (await settlesWithin(looked, MAX_LOOK_MS)) {
      await new Promise((resolve) => setTimeout(resolve, PAINT_MS));
    }
  }
}
