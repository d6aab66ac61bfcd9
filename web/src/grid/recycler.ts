/**
 * Recycles elements by index: those that leave the range are reused for those that enter it, so
 * scrolling creates no elements. One index can be kept out of range: an element with the focus would
 * lose it if it became another row.
 */
export class Recycler<T> {
  readonly #make: () => T;
  readonly #release: (item: T) => void;
  readonly #items = new Map<number, T>();
  readonly #free: T[] = [];

  /**
   * @param make makes a new item
   * @param release hides an item that is not in use
   */
  constructor(make: () => T, release: (item: T) => void) {
    this.#make = make;
    this.#release = release;
  }

  get(index: number): T | undefined {
    return this.#items.get(index);
  }

  entries(): IterableIterator<[number, T]> {
    return this.#items.entries();
  }

  /**
   * Calls `assign` for every index of `[start, end)`, for the first `numFirst` ones, and for `kept`,
   * each with its item.
   */
  assign(
    start: number,
    end: number,
    kept: number | undefined,
    assign: (item: T, index: number) => void,
    numFirst = 0,
  ): void {
    const isWanted = (index: number) => index < numFirst || (index >= start && index < end);
    for (const [index, item] of this.#items) {
      if (!isWanted(index) && index !== kept) {
        this.#items.delete(index);
        this.#free.push(item);
      }
    }
    for (let index = numFirst > 0 ? 0 : start; index < end; index++) {
      if (!isWanted(index)) continue;
      let item = this.#items.get(index);
      if (item === undefined) {
        item = this.#free.pop() ?? this.#make();
        this.#items.set(index, item);
      }
      assign(item, index);
    }
    if (kept !== undefined && !isWanted(kept)) {
      const item = this.#items.get(kept);
      if (item !== undefined) assign(item, kept);
    }
    for (const item of this.#free) this.#release(item);
  }
}
