// Loaded when rows are saved as a file.

import type { WorkOptions } from "../api/row-reader.js";
import { ColonnadeError, cancelledError, noRows } from "../model/errors.js";
import type { Field } from "../model/schema.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { ShownRows } from "./clipboard.js";
import { type CsvOptions, rowsWriter } from "./formats.js";

/** Options of `toBlob`. */
export interface RowsFileOptions extends WorkOptions, CsvOptions {
  /** `arrow` is an Arrow IPC file; it needs the package `apache-arrow`. */
  format: "csv" | "ndjson" | "arrow";
  /** Whether CSV begins with UTF-8's byte order mark, which Excel needs for letters beyond ASCII; default false. */
  bom?: boolean | undefined;
}

const MEDIA_TYPES = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
  arrow: "application/vnd.apache.arrow.file",
};
/** Cells read and written in one go, which takes a few milliseconds. */
const CELLS_PER_SLICE = 8192;

/**
 * Writes the shown rows and columns as a file, slice by slice. Rows that arrive meanwhile are left out.
 *
 * @throws ColonnadeError `cancelled`, or for Arrow `unsupported_type` or `arrow_unavailable`
 */
export async function rowsFile(
  shown: ShownRows | undefined,
  options: RowsFileOptions,
): Promise<Blob> {
  const { format, bom = false, signal, onProgress } = options;
  const type = MEDIA_TYPES[format];
  if (type === undefined) {
    throw new ColonnadeError("bad_format", `There is no format ${format}.`, {
      hint: `Use ${Object.keys(MEDIA_TYPES).join(", ")}.`,
    });
  }
  if (shown === undefined) throw noRows();
  const { rows, numRows, columns } = shown;
  if (format === "arrow") {
    const table = await rows.toArrow({ signal });
    const { arrowFile } = await import("../api/arrow.js");
    return new Blob([await arrowFile(table, columns)], { type });
  }
  const fields = columns.map((position) => shown.fields[position] as Field);
  const writer = rowsWriter(format, fields, true, options);
  const mark = bom && format === "csv" ? "\ufeff" : "";
  const parts: Blob[] = [new Blob([mark, writer.head])];
  const sliceRows = Math.max(1, Math.floor(CELLS_PER_SLICE / Math.max(1, columns.length)));
  for (let start = 0; start < numRows; start += sliceRows) {
    if (signal?.aborted) throw cancelledError("file");
    const end = Math.min(start + sliceRows, numRows);
    const texts = await rows.text({ start, end }, columns);
    // Blobs, which the browser may keep on disk.
    parts.push(new Blob(texts.map((row) => writer.row(row, false))));
    onProgress?.(end / numRows);
    await yieldToEventLoop();
  }
  return new Blob(parts, { type });
}
