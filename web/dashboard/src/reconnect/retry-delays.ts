/** The delay before the first retry, in ms; it doubles with each retry. */
const FIRST_MS = 2000;
const MAX_TRIES = 6;

/** Exponential delays between retries, with a limited number of retries without new rows. */
export class RetryDelays {
  #source: unknown;
  #numRows = 0;
  #numTries = 0;

  /**
   * The delay before the next retry in ms; undefined after the last one. Another source or new rows
   * reset the delays.
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
