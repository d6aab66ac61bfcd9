/** Cells of some rows, row by row, as a reader gives them to a page. */
export type Cells = (string | null)[][];

/** Told while a table is read. */
export interface Progress {
  schema(): void;
  /** The first rows can be read: their texts. */
  firstRows(cells: Cells): void;
}

/** A table whose last row can be read. */
export interface OpenTable {
  numRows: number;
  /** Texts of rows `[start, end)`. */
  cells(start: number, end: number): Promise<Cells>;
  /** Reads every value; what {@link sumOf} and {@link textValue} make of them. */
  touch?(): Promise<number>;
  /** Work over all rows, by name. */
  works?: Record<string, () => Promise<unknown>>;
}

/** Reads the stream at `url`; resolves once the last row can be read. */
export type ReadTable = (url: string, progress: Progress) => Promise<OpenTable>;

/** How many rows are shown first, and checked at both ends. */
export const SHOWN_ROWS = 20;

type Numbers = ArrayLike<number> | ArrayLike<bigint>;

/** Sum of numbers, or of 64-bit integers that are below 2^53 and stay so in sum. */
export function sumOf(values: Numbers): number {
  let total = 0;
  if (typeof values[0] === "bigint") {
    const integers = values as ArrayLike<bigint>;
    let wide = 0n;
    for (let index = 0; index < integers.length; index++) wide += integers[index] as bigint;
    return Number(wide);
  }
  const numbers = values as ArrayLike<number>;
  for (let index = 0; index < numbers.length; index++) total += numbers[index] as number;
  return total;
}

/** Something of a text that cannot be told without reading it to its end. */
export function textValue(text: string): number {
  return text.length * 31 + text.charCodeAt(0) + text.charCodeAt(text.length - 1);
}

/** What is done with a complete `lineitem`, named as the report names it. */
export const WORKS = {
  sort: "sort by l_extendedprice, last first, and read 20 rows",
  filter: "rows with l_quantity above 45, and read 20 of them",
  group: "rows by l_shipmode",
  search: "the first 20 rows whose l_comment holds “furiously special”",
} as const;
