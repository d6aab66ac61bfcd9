/** Memory that the tables of a page share if they have no budget of their own, in bytes: 1 GiB. */
export const PAGE_MEMORY_BYTES = 1024 ** 3;
/** The first share of a table. */
const FIRST_BYTES = 16 * 1024 ** 2;

let sharedBytes = 0;

/** The share of a table in the memory of its page. It grows with the table while there is memory left. */
export class MemoryShare {
  #bytes = 0;

  constructor() {
    this.#set(FIRST_BYTES);
  }

  /** The memory budget of the table. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Doubles the share, or takes what is left; returns the budget. */
  grow(): number {
    const leftBytes = Math.max(0, PAGE_MEMORY_BYTES - sharedBytes);
    this.#set(this.#bytes + Math.min(this.#bytes, leftBytes));
    return this.#bytes;
  }

  /** Gives back what the rows of the table, which will get no more, do not need. */
  settle(usedBytes: number): void {
    this.#set(Math.min(this.#bytes, usedBytes));
  }

  #set(bytes: number): void {
    sharedBytes += bytes - this.#bytes;
    this.#bytes = bytes;
  }
}
