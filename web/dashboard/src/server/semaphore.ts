/** Limits how many tasks run at once; further tasks wait and start in the order of their calls. */
export class Semaphore {
  readonly #maxRunning: number;
  #numRunning = 0;
  readonly #queue: (() => void)[] = [];

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /** Runs a task once fewer than the maximum run; an aborted task leaves the queue. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#numRunning >= this.#maxRunning) await this.#wait(signal);
    else this.#numRunning++;
    try {
      // The task may have been aborted between its release from the queue and this continuation.
      signal?.throwIfAborted();
      return await work();
    } finally {
      const next = this.#queue.shift();
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
        this.#queue.splice(this.#queue.indexOf(begin), 1);
        reject(signal?.reason);
      };
      this.#queue.push(begin);
      signal?.addEventListener("abort", leave);
    });
  }
}
