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
  /** Reads every value; what `sumOf` and `textValue` make of them. */
  touch?(): Promise<number>;
  /** Work over all rows, by name. */
  works?: Record<string, () => Promise<unknown>>;
}

/** Reads the stream at `url`, or our server's answer to `sql`; resolves once the last row can be read. */
export type ReadTable = (url: string, progress: Progress, sql?: string) => Promise<OpenTable>;

/** How many rows are shown first, and checked at both ends. */
export const SHOWN_ROWS = 20;
