import { type Cells, type OpenTable, SHOWN_ROWS } from "./reader.js";

/** The reading of one table by one reader. */
export interface TableTask {
  reader: string;
  /** The URL of the stream or of the Parquet file; with `sql`, of a server's `/v1/query`. */
  url: string;
  /** The SQL for our server. */
  sql?: string;
  /** Whether every value is read at the end. */
  touches: boolean;
  /** Whether to time the work over all rows (`OpenTable.works`). */
  works: boolean;
}

/** A message of the worker: a mark with its time (`nowMs`), the end, or an error. */
export type TableNews =
  | { name: "schema" | "last"; atMs: number }
  | { name: "first"; atMs: number; cells: Cells }
  | ({ name: "end" } & TableEnd)
  | { name: "error"; message: string };

/** The outcome of reading a table. */
export interface TableEnd {
  numRows: number;
  /** The texts of the first and last rows. */
  cells: { first: Cells; last: Cells };
  touchedMs: number | undefined;
  checksum: number | undefined;
  /** Milliseconds by name of the work. */
  works: Record<string, number>;
}

/** The time in milliseconds on a clock that a page and its workers share. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Reads values, times the work, and collects texts of a complete table. */
export async function finish(table: OpenTable, task: TableTask): Promise<TableEnd> {
  const checksum = task.touches ? await table.touch?.() : undefined;
  const touchedMs = checksum === undefined ? undefined : nowMs();
  const works: Record<string, number> = {};
  for (const [name, work] of Object.entries(task.works ? (table.works ?? {}) : {})) {
    const startMs = performance.now();
    await work();
    works[name] = performance.now() - startMs;
  }
  const { numRows } = table;
  const first = await table.cells(0, SHOWN_ROWS);
  const last = await table.cells(numRows - SHOWN_ROWS, numRows);
  return { numRows, cells: { first, last }, touchedMs, checksum, works };
}
