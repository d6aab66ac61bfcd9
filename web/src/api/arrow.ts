import type { Table as ArrowTable } from "apache-arrow";
import { ColonnadeError } from "../model/errors.js";
import type { Schema } from "../model/schema.js";
import { takeRows } from "./arrow-take.js";

/** Types, nested ones included, that apache-arrow lacks or reads wrongly. */
const UNREADABLE =
  /\b(?:(?:large_)?list_view|run_end_encoded|decimal32|decimal64)\b|indices=u?int64\b/;

/**
 * Reads an Arrow IPC stream into a table of apache-arrow. Only this file loads that package.
 *
 * @param rowNumbers returns the rows to take from it; by default all
 */
export async function arrowTable(
  schema: Schema,
  readStream: () => Promise<Uint8Array[]>,
  rowNumbers: () => Promise<Uint32Array | null> = async () => null,
): Promise<ArrowTable> {
  for (const { name, type } of schema.fields) {
    if (UNREADABLE.test(type)) {
      throw new ColonnadeError(
        "unsupported_type",
        `Column "${name}" is ${type}, which apache-arrow cannot read.`,
        { hint: "Open the table without that column." },
      );
    }
  }
  const arrow = await loadArrow();
  const [stream, rows] = await Promise.all([readStream(), rowNumbers()]);
  try {
    const table = arrow.tableFromIPC(stream);
    return rows === null ? table : takeRows(arrow, table, rows);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError("unsupported_type", `apache-arrow cannot read the table: ${reason}`);
  }
}

/** The columns of a table at these positions, as an Arrow IPC file. */
export async function arrowFile(
  table: ArrowTable,
  columns: readonly number[],
): Promise<Uint8Array<ArrayBuffer>> {
  const { tableToIPC } = await loadArrow();
  const isWhole =
    columns.length === table.numCols && columns.every((position, index) => position === index);
  const chosen = isWhole ? table : table.selectAt([...columns]);
  return tableToIPC(chosen, "file") as Uint8Array<ArrayBuffer>;
}

async function loadArrow(): Promise<typeof import("apache-arrow")> {
  try {
    return await import("apache-arrow");
  } catch {
    throw new ColonnadeError("arrow_unavailable", "The package apache-arrow is not installed.", {
      hint: "Install it: npm install apache-arrow.",
    });
  }
}
