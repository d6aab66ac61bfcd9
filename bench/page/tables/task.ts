import { type Cells, type OpenTable, SHOWN_ROWS } from "./reader.js";

/** What the page asks for. */
export interface TableTask {
  reader: string;
  /** Address of the stream, or of the Parquet file; with `sql`, of a server's queries. */
  url: string;
  /** What our server is asked. */
  sql?: string;
  /** Whether every value is read at the end. */
  touches: boolean;
  /** Whether the work over all rows is done (`WORKS`). */
  works: boolean;
}

/** When something was, in ms since the page's origin; a text where it failed. */
export type TableNews =
  | { name: "schema" | "last"; atMs: number }
  | { name: "first"; atMs: number; cells: Cells }
  | ({ name: "end" } & TableEnd)
  | { name: "error"; message: string };

/** What came of a table. */
export interface TableEnd {
  numRows: number;
  /** The first and the last rows' texts. */
  cells: { first: Cells; last: Cells };
  touchedMs: number | undefined;
  checksum: number | undefined;
  /** Milliseconds of each work. */
  works: Record<string, number>;
}

/** Milliseconds that a page and its workers share. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** What is asked of a table whose last row is there. */
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
