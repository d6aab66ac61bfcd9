/** Before the first try, in ms; each one after waits twice as long as the one before. */
const FIRST_MS = 2000;
const MAX_TRIES = 6;

/** How long to wait before rows are asked for again, until tries have brought nothing for too long. */
export class RetryDelays {
  #source: unknown;
  #numRows = 0;
  #numTries = 0;

  /**
   * The wait in ms before the next try; undefined where there were enough. Another source, or rows
   * that no try before has brought, begin anew.
   */
  next(source: unknown, numRows: number): number | undefined {
    if (source !== this.#source || numRows > this.#numRows) {
      this.#source = source;
      this.#numRows = numRows;
      this.#numTries = 0;
    }
    return this.#numTries < MAX_TRIES ? FIRST_MS * 2 ** this.#numTries++ : undefined;
  }
}
