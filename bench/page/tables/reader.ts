/** The texts of cells, row by row; null for a null cell. */
export type Cells = (string | null)[][];

/** Callbacks while a table is read. */
export interface Progress {
  schema(): void;
  /** Called with the texts of the first rows once they can be read. */
  firstRows(cells: Cells): void;
}

/** A table that has been read to its last row. */
export interface OpenTable {
  numRows: number;
  /** The texts of rows `[start, end)`. */
  cells(start: number, end: number): Promise<Cells>;
  /** Reads every value; returns the sum of `sumOf` and `textValue` over them. */
  touch?(): Promise<number>;
  /** Work over all rows, by name. */
  works?: Record<string, () => Promise<unknown>>;
}

/** Reads the stream at `url`, or our server's response to `sql`; resolves once the last row can be read. */
export type ReadTable = (url: string, progress: Progress, sql?: string) => Promise<OpenTable>;

/** The number of rows that are shown first, and compared at both ends. */
export const SHOWN_ROWS = 20;
