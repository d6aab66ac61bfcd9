import { ColonnadeError } from "../model/errors.js";

/** The budget of a page that sets none: 2 GiB, or that of a table with a larger one. */
const DEFAULT_PAGE_BYTES = 2 * 1024 ** 3;

/** The part of the page's budget that a table gets although others have taken everything. */
const LEAST_FRACTION = 1 / 32;

/** The budget of the page, in bytes, if it sets one. */
let pageBytes: number | undefined;

const shares = new Set<MemoryShare>();

/**
 * Sets how much memory the rows of all tables of this page may take together, in bytes; default 2 GiB, or the
 * `memoryBytes` of a table if that is more. Tables that are open keep what they have, because the memory of a WebAssembly
 * module does not shrink. A table that comes later gets what they leave, but at least 1/32 of the page's budget. A table
 * that paused goes on if there is more now. Throws `bad_parameter` unless `bytes` is a positive number or undefined.
 */
export function setPageMemory(bytes: number | undefined): void {
  if (bytes !== undefined && !(bytes > 0)) {
    throw new ColonnadeError(
      "bad_parameter",
      "The memory of a page is a positive number of bytes.",
    );
  }
  pageBytes = bytes;
  for (const share of [...shares]) share.onFree();
}

/** What one table may take of the page's budget. Closing it gives that back. */
export class MemoryShare {
  /** Called when there may be more for it: another table has given something back, or the page has another budget. */
  onFree: () => void = () => undefined;
  #maxBytes: number;
  #bytes: number;

  /** A share that begins with the least that every table gets. @param maxBytes the table's own budget */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#bytes = Math.min(maxBytes, this.#pageBytes * LEAST_FRACTION);
    shares.add(this);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get #pageBytes(): number {
    return pageBytes ?? Math.max(DEFAULT_PAGE_BYTES, this.#maxBytes);
  }

  /** Grows to at most `wantedBytes`, as far as the table's own budget and the other tables permit. */
  grow(wantedBytes: number): number {
    let freeBytes = this.#pageBytes;
    for (const share of shares) if (share !== this) freeBytes -= share.#bytes;
    const bytes = Math.min(wantedBytes, this.#maxBytes, freeBytes);
    this.#bytes = Math.max(this.#bytes, bytes);
    return this.#bytes;
  }

  /** Grows to `bytes`, because the user wants so. */
  extend(bytes: number): void {
    this.#maxBytes = this.#bytes = bytes;
  }

  /** Gives back what is beyond `usedBytes`: the table needs no more. */
  trim(usedBytes: number): void {
    this.#bytes = Math.min(this.#bytes, usedBytes);
    this.#tellOthers();
  }

  close(): void {
    if (shares.delete(this)) this.#tellOthers();
  }

  #tellOthers(): void {
    for (const share of [...shares]) if (share !== this) share.onFree();
  }
}
