import type { View } from "../api/row-reader.js";
import type { CellRect } from "../grid/cache.js";
import { numCells } from "../grid/selection.js";
import { ColonnadeError } from "../model/errors.js";
import type { Field } from "../model/schema.js";
import type { CopyFormat } from "./formats.js";

/** Browsers sanitise copied HTML in one go, so more cells than this would block the page. */
const MAX_HTML_CELLS = 20_000;

/** Options of copying. */
export interface CopyOptions {
  /** Default `tsv`. */
  format?: CopyFormat | undefined;
  /** Whether TSV and CSV begin with the column names; by default, true for CSV and false for TSV. */
  header?: boolean | undefined;
  /** Stops copying; the promise rejects with `cancelled`. */
  signal?: AbortSignal | undefined;
}

/** Rows that can be read, and the positions of their columns as they are shown. */
export interface ShownRows {
  rows: View;
  numRows: number;
  fields: readonly Field[];
  columns: readonly number[];
}

/** Cells as text, in pieces to be joined. */
export interface Written {
  text: string[];
  /** The cells as an HTML table, if they are few. */
  html: string[] | undefined;
}

/**
 * Puts cells on the clipboard that are still being written. The clipboard gets a promise within the
 * user's gesture, because the browser's permission may expire before they are written.
 *
 * @throws ColonnadeError `clipboard_refused`, or the error of `written`
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
    // Pages without TLS have no `navigator.clipboard`, only the copy command.
    const { copyByCommand } = await import("./copy-command.js");
    if (copyByCommand(await written)) return;
    throw new ColonnadeError(
      "clipboard_refused",
      "The browser blocked the clipboard. Allow it and copy again.",
      { hint: String(thrown) },
    );
  }
}

/** Whether cells are also copied as an HTML table. */
export function copiesHtml(rect: CellRect, { format = "tsv", header }: CopyOptions): boolean {
  const isOne = numCells(rect) === 1 && header !== true;
  return format === "tsv" && !isOne && numCells(rect) <= MAX_HTML_CELLS;
}
