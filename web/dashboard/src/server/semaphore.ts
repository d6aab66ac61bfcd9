/** Does a few things at a time; the others wait for their turn, the first come first. */
export class Turns {
  readonly #maxAtOnce: number;
  #numRunning = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxAtOnce: number) {
    this.#maxAtOnce = maxAtOnce;
  }

  /** Does something when it is its turn; what is aborted before gives up its place. */
  async take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#numRunning >= this.#maxAtOnce) await this.#wait(signal);
    else this.#numRunning++;
    try {
      // It may have been aborted after its turn came, before this goes on.
      signal?.throwIfAborted();
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#numRunning--;
      else next();
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(begin);
      signal?.addEventListener("abort", leave);
    });
  }
}
