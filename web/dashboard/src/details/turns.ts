/** Does a few things at a time; the others wait for their turn, the first come first. */
export class Turns {
  readonly #maxAtOnce: number;
  #numRunning = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxAtOnce: number) {
    this.#maxAtOnce = maxAtOnce;
  }

  /** Does something when it is its turn. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#numRunning >= this.#maxAtOnce) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#numRunning++;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#numRunning--;
      else next();
    }
  }
}
