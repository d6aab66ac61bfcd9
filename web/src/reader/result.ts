import type { FileRows } from "./parquet-file.js";

/** Rows of a file in an order. */
export class Result {
  readonly numRows: number;
  /** The numbers of the rows in the file; undefined for all of them. */
  readonly #numbers: Uint32Array | undefined;

  constructor(numRows: number, numbers?: Uint32Array) {
    this.numRows = numRows;
    this.#numbers = numbers;
  }

  /** Rows `[start, end)` of this result. */
  range(start: number, end: number): FileRows {
    if (this.#numbers === undefined) return { start, end };
    return { numbers: this.#numbers.subarray(start, end), firstRow: start };
  }

  /** The rows with these numbers in this result. */
  choose(numbers: Uint32Array): Result {
    const own = this.#numbers;
    const chosen = own === undefined ? numbers : numbers.map((row) => own[row] ?? 0);
    return new Result(chosen.length, chosen);
  }
}
