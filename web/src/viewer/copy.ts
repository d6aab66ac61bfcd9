import { ColonnadeError, cancelledError } from "../errors.js";
import type { CellRect } from "../grid/cache.js";
import { numCells } from "../grid/selection.js";
import type { Rows } from "../rows.js";
import type { Field } from "../schema.js";
import { letMessagesIn } from "../turns.js";
import { type CopyFormat, htmlWriter, type RowsWriter, rowsWriter } from "./formats.js";

/** Cells read and written in one go: a few milliseconds. */
const CELLS_PER_SLICE = 8192;
/** Browsers clean HTML in one go before they take it: more cells than this would stop the page. */
const MAX_HTML_CELLS = 20_000;
/** What a clipboard takes, in characters. */
const MAX_CHARS = 2 ** 28;

/** Options of copying. */
export interface CopyOptions {
  /** Default `tsv`. */
  format?: CopyFormat | undefined;
  /** Whether TSV and CSV begin with the columns' names; default for CSV only. */
  header?: boolean | undefined;
  /** Stops it; the promise rejects with `cancelled`. */
  signal?: AbortSignal | undefined;
}

/** Rows that can be read, and the positions of their columns as they are shown. */
export interface ShownRows {
  rows: Pick<Rows, "window" | "text" | "values" | "find">;
  numRows: number;
  fields: readonly Field[];
  columns: readonly number[];
}

/** Written cells, in parts. */
export interface Written {
  text: string[];
  /** A table of HTML, where cells are few. */
  html: string[] | undefined;
}

/**
 * Writes the cells of a rectangle with their exact texts, slice by slice, so that neither the page
 * nor its worker is held up.
 *
 * @param onProgress told of how much is done, from 0 to 1
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
  const html = copiesHtml(rect, options) ? htmlWriter() : undefined;
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
      throw new ColonnadeError("too_large", "These cells are too much for a clipboard.");
    }
    written.text.push(text);
    if (html !== undefined) {
      written.html?.push(rows.map((texts) => html.row(texts, false)).join(""));
    }
    onProgress((end - rect.rowStart) / (rect.rowEnd - rect.rowStart));
    await letMessagesIn();
  }
  if (signal?.aborted) throw cancelledError();
  written.text.push(writer.tail);
  if (html !== undefined) written.html?.push(html.tail);
  return written;
}

/** One cell is copied as it is. */
const plainWriter: RowsWriter = { head: "", row: ([text]) => text ?? "", tail: "" };

/**
 * Gives the clipboard what is still being written, within the user's gesture, which a browser may
 * forget meanwhile.
 *
 * @throws ColonnadeError `clipboard_refused`, or what `written` rejects with
 */
export async function toClipboard(written: Promise<Written>, hasHtml: boolean): Promise<void> {
  written.catch(() => undefined);
  try {
    const blob = (type: string, parts: (written: Written) => string[]) =>
      written.then((done) => new Blob(parts(done), { type }));
    const items: Record<string, Promise<Blob>> = {
      "text/plain": blob("text/plain", ({ text }) => text),
    };
    if (hasHtml) items["text/html"] = blob("text/html", ({ html }) => html ?? []);
    for (const item of Object.values(items)) item.catch(() => undefined);
    await navigator.clipboard.write([new ClipboardItem(items)]);
  } catch (thrown) {
    // Pages without TLS have no such clipboard, only the command.
    if (copyByCommand(await written)) return;
    throw new ColonnadeError(
      "clipboard_refused",
      "The browser refused the clipboard: allow it for this page, and copy again.",
      { hint: String(thrown) },
    );
  }
}

function copyByCommand({ text, html }: Written): boolean {
  let isTaken = false;
  const onCopy = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    event.clipboardData?.setData("text/plain", text.join(""));
    if (html !== undefined) event.clipboardData?.setData("text/html", html.join(""));
    isTaken = true;
  };
  document.addEventListener("copy", onCopy, { capture: true });
  try {
    return document.execCommand("copy") && isTaken;
  } finally {
    document.removeEventListener("copy", onCopy, { capture: true });
  }
}

/** Whether cells are copied as a table of HTML too. */
export function copiesHtml(rect: CellRect, { format = "tsv", header }: CopyOptions): boolean {
  const isOne = numCells(rect) === 1 && header !== true;
  return format === "tsv" && !isOne && numCells(rect) <= MAX_HTML_CELLS;
}
