import type { RowReader } from "../api/row-reader.js";
import type { CellRect } from "../grid/cache.js";
import { numCells } from "../grid/selection.js";
import { ColonnadeError } from "../model/errors.js";
import type { Field } from "../model/schema.js";
import type { CopyFormat } from "./formats.js";

/** Browsers clean HTML in one go before they take it: more cells than this would stop the page. */
const MAX_HTML_CELLS = 20_000;

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
  rows: Pick<RowReader, "window" | "text" | "values" | "find">;
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
