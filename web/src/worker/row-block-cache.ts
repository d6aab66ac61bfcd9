import { cancelledError } from "../model/errors.js";

/** Rows of one response, which are freed together. */
export interface RowBlock {
  readonly numBytes: number;
  free(): void;
}

/** Fetches at once. A browser gives an origin six connections; the page and other tables need some. */
const MAX_FETCHES = 2;

interface Waiter<B> {
  take(block: B): void;
  reject(error: unknown): void;
}

/**
 * An LRU cache of row blocks by number, within a budget in bytes. A missing block is fetched when it
 * is requested; at most one block is prefetched.
 */
export class RowBlockCache<B extends RowBlock> {
  readonly #fetch: (index: number, signal: AbortSignal) => Promise<B>;
  readonly #capacityBytes: number;
  /** The assumed size of a block that is being fetched. */
  readonly #expectedBytes: number;
  /** The Map's order is the order of eviction. */
  readonly #blocks = new Map<number, B>();
  /** Requested blocks that are missing, in the order of the requests. */
  readonly #wanted = new Map<number, Set<Waiter<B>>>();
  readonly #fetches = new Map<number, AbortController>();
  #ahead: number | undefined;
  #usedBytes = 0;
  #isClosed = false;

  constructor(
    fetch: (index: number, signal: AbortSignal) => Promise<B>,
    capacityBytes: number,
    expectedBytes: number,
  ) {
    this.#fetch = fetch;
    this.#capacityBytes = capacityBytes;
    this.#expectedBytes = expectedBytes;
  }

  /** Bytes of the cached blocks. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /**
   * Calls `work` on a block as soon as it is cached; the block may be evicted afterwards. Rejects with
   * the error of the fetch, or with `cancelled`; another call tries again.
   */
  use<T>(index: number, signal: AbortSignal, work: (block: B) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#isClosed) return reject(cancelledError("request"));
      const block = this.#blocks.get(index);
      if (block !== undefined) {
        this.#blocks.delete(index);
        this.#blocks.set(index, block);
        return resolve(work(block));
      }
      const leave = () => {
        this.#leave(index, waiter);
        reject(cancelledError("request"));
      };
      const settled = () => signal.removeEventListener("abort", leave);
      const waiter: Waiter<B> = {
        take: (taken) => {
          settled();
          try {
            resolve(work(taken));
          } catch (thrown) {
            reject(thrown);
          }
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      const waiters = this.#wanted.get(index) ?? new Set();
      this.#wanted.set(index, waiters.add(waiter));
      this.#pump();
    });
  }

  /** Fetches a block that will be requested soon, once no other is being fetched. */
  prefetch(index: number): void {
    this.#ahead = index;
    this.#pump();
  }

  /** Frees all blocks and rejects all waiting calls. Nothing can be read afterwards. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#fetches.values()) controller.abort();
    for (const waiters of this.#wanted.values()) {
      for (const waiter of waiters) waiter.reject(cancelledError("request"));
    }
    this.#wanted.clear();
    this.#evict(Number.NEGATIVE_INFINITY);
  }

  #leave(index: number, waiter: Waiter<B>): void {
    const waiters = this.#wanted.get(index);
    waiters?.delete(waiter);
    if (waiters?.size !== 0) return;
    this.#wanted.delete(index);
    this.#fetches.get(index)?.abort();
  }

  #pump(): void {
    if (this.#isClosed) return;
    for (const index of this.#wanted.keys()) {
      if (this.#fetches.has(index)) continue;
      if (this.#fetches.size < MAX_FETCHES) {
        void this.#start(index);
        continue;
      }
      // A requested block interrupts a prefetch.
      for (const [other, controller] of this.#fetches) {
        if (!this.#wanted.has(other)) controller.abort();
      }
      return;
    }
    const ahead = this.#ahead;
    if (ahead === undefined || this.#fetches.size > 0) return;
    this.#ahead = undefined;
    if (!this.#blocks.has(ahead)) void this.#start(ahead);
  }

  async #start(index: number): Promise<void> {
    const controller = new AbortController();
    this.#fetches.set(index, controller);
    this.#evict(this.#capacityBytes - this.#expectedBytes * this.#fetches.size);
    try {
      const block = await this.#fetch(index, controller.signal);
      this.#fetches.delete(index);
      this.#arrive(index, block);
    } catch (thrown) {
      this.#fetches.delete(index);
      // Requests since the abort get another try.
      if (!controller.signal.aborted) {
        const waiters = this.#wanted.get(index) ?? [];
        this.#wanted.delete(index);
        for (const waiter of waiters) waiter.reject(thrown);
      }
    }
    this.#pump();
  }

  #arrive(index: number, block: B): void {
    if (this.#isClosed) {
      block.free();
      return;
    }
    this.#blocks.set(index, block);
    this.#usedBytes += block.numBytes;
    const waiters = this.#wanted.get(index) ?? [];
    this.#wanted.delete(index);
    for (const waiter of waiters) waiter.take(block);
    this.#evict(this.#capacityBytes);
  }

  #evict(limitBytes: number): void {
    for (const [index, block] of this.#blocks) {
      if (this.#usedBytes <= limitBytes) return;
      this.#blocks.delete(index);
      this.#usedBytes -= block.numBytes;
      block.free();
    }
  }
}
