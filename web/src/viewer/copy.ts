import type { CellRect } from "../grid/cache.js";
import { numCells } from "../grid/selection.js";
import { formatCount } from "../model/counts.js";
import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { Field } from "../model/schema.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import { type CopyOptions, copiesHtml, type ShownRows, type Written } from "./clipboard.js";
import { htmlWriter, type RowsWriter, rowsWriter } from "./formats.js";

/** Cells read and written in one go, which takes a few milliseconds. */
const CELLS_PER_SLICE = 8192;
/** The limit of a copy, in characters. */
const MAX_CHARS = 2 ** 28;

/**
 * Writes the cells of a rectangle with their exact texts, slice by slice, so that neither the page
 * nor its worker is blocked.
 *
 * @param onProgress called with the fraction that is done, from 0 to 1
 * @throws ColonnadeError `cancelled`, or `too_large` for more than 2²⁸ characters
 */
export async function writeCells(
  shown: ShownRows,
  rect: CellRect,
  options: CopyOptions,
  onProgress: (fraction: number) => void,
): Promise<Written> {
  const { format = "tsv", header = format === "csv", signal } = options;
  const positions = shown.columns.slice(rect.columnStart, rect.columnEnd);
  const fields = positions.map((position) => shown.fields[position] as Field);
  const columns = Uint32Array.from(positions);
  const isOne = numCells(rect) === 1 && format === "tsv" && !header;
  const writer = isOne ? plainWriter : rowsWriter(format, fields, header);
  const html = copiesHtml(rect, options) ? htmlWriter(header ? fields : []) : undefined;
  const written: Written = { text: [writer.head], html: html && [html.head] };
  const sliceRows = Math.max(1, Math.floor(CELLS_PER_SLICE / columns.length));
  let numChars = 0;
  for (let start = rect.rowStart; start < rect.rowEnd; start += sliceRows) {
    if (signal?.aborted) throw cancelledError();
    const end = Math.min(start + sliceRows, rect.rowEnd);
    const rows = await shown.rows.text({ start, end }, positions);
    const text = rows
      .map((texts, index) => writer.row(texts, start + index === rect.rowStart))
      .join("");
    numChars += text.length;
    if (numChars > MAX_CHARS) {
      throw new ColonnadeError(
        "too_large",
        `The selection is too large to copy: the limit is ${formatCount(MAX_CHARS)} characters.`,
      );
    }
    written.text.push(text);
    if (html !== undefined) {
      written.html?.push(rows.map((texts) => html.row(texts, false)).join(""));
    }
    onProgress((end - rect.rowStart) / (rect.rowEnd - rect.rowStart));
    await yieldToEventLoop();
  }
  if (signal?.aborted) throw cancelledError();
  written.text.push(writer.tail);
  if (html !== undefined) written.html?.push(html.tail);
  return written;
}

/** Writes a single cell without quoting. */
const plainWriter: RowsWriter = { head: "", row: ([text]) => text ?? "", tail: "" };
