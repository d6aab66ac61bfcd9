import { distinctNames } from "../model/distinct-names.js";
import { type Field, isNumericType } from "../model/schema.js";

/** The formats of copied cells. */
export type CopyFormat = "tsv" | "csv" | "json" | "markdown";

/** Writes rows of exact texts, row by row; null is a null. */
export interface RowsWriter {
  /** The text before the first row. */
  readonly head: string;
  /** A row; `isFirst` for the first one. */
  row(texts: readonly (string | null)[], isFirst: boolean): string;
  /** The text after the last row. */
  readonly tail: string;
}

/**
 * A writer for some columns. In TSV and CSV a null is an empty field and the empty text is `""`, as in
 * the server's CSV. In every format numbers keep all their digits.
 *
 * @param hasHeader whether TSV and CSV begin with the column names
 */
export function rowsWriter(
  format: CopyFormat,
  fields: readonly Field[],
  hasHeader: boolean,
): RowsWriter {
  switch (format) {
    case "tsv":
      return separated("\t", fields, hasHeader);
    case "csv":
      return separated(",", fields, hasHeader);
    case "json":
      return json(fields);
    case "markdown":
      return markdown(fields);
  }
}

function separated(separator: string, fields: readonly Field[], hasHeader: boolean): RowsWriter {
  const quote = (text: string | null) => {
    if (text === null) return "";
    const isPlain = text !== "" && !/["\n\r]/.test(text) && !text.includes(separator);
    return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
  };
  const line = (texts: readonly (string | null)[]) => texts.map(quote).join(separator);
  return {
    head: hasHeader ? `${line(fields.map(({ name }) => name))}\n` : "",
    row: (texts) => `${line(texts)}\n`,
    tail: "",
  };
}

function json(fields: readonly Field[]): RowsWriter {
  const keys = distinctNames(fields.map(({ name }) => name)).map((name) => JSON.stringify(name));
  const writers = fields.map(jsonWriter);
  return {
    head: "[",
    row: (texts, isFirst) => {
      const members = texts.map((text, index) => {
        return `${keys[index]}:${text === null ? "null" : writers[index]?.(text)}`;
      });
      return `${isFirst ? "\n" : ",\n"}{${members.join(",")}}`;
    },
    tail: "\n]\n",
  };
}

/** Texts that are JSON already are copied unchanged, which keeps all their digits. */
function jsonWriter({ type }: Field): (text: string) => string {
  const isNested = /^(?:large_|fixed_size_)?(?:list|list_view)<|^(?:struct|map)</.test(type);
  if (isNested) return (text) => text;
  if (type === "bool") return (text) => text;
  if (/^(?:large_|fixed_size_)?binary/.test(type)) {
    return (text) => JSON.stringify(text.slice(0, Math.max(0, text.indexOf("(") - 1)));
  }
  const isNumeric = isNumericType(type);
  return (text) =>
    isNumeric && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? text : JSON.stringify(text);
}

function markdown(fields: readonly Field[]): RowsWriter {
  // Markdown trims white space at the edges of a cell unless it is written as references.
  const reference = (spaces: string) => [...spaces].map((c) => `&#${c.codePointAt(0)};`).join("");
  const cell = (text: string) =>
    text
      .replace(/[\\|`*_~&<[\]]/g, "\\$&")
      .replace(/^[^\S\r\n]+|[^\S\r\n]+$/g, reference)
      .replace(/\r\n|\n|\r/g, "<br>");
  const line = (texts: readonly string[]) => `| ${texts.join(" | ")} |\n`;
  const rule = fields.map(({ type }) => (isNumericType(type) ? "---:" : "---"));
  return {
    head: line(fields.map(({ name }) => cell(name))) + line(rule),
    row: (texts) => line(texts.map((text) => cell(text ?? ""))),
    tail: "",
  };
}

/** Spreadsheets hold numbers as doubles, so at most 15 digits are safe. */
const MAX_SAFE_DIGITS = 15;

/** Writes an HTML table for spreadsheets and documents. Numbers of more than 15 digits are marked as text. */
export function htmlWriter(): RowsWriter {
  const cell = (text: string | null) => {
    const digits = /^[-+]?[\d.]+$/.test(text ?? "") ? (text?.replace(/\D/g, "").length ?? 0) : 0;
    const style = digits > MAX_SAFE_DIGITS ? ` style='mso-number-format:"\\@"'` : "";
    return `<td${style}>${escapeHtml(text ?? "")}</td>`;
  };
  return {
    head: "<table>",
    row: (texts) => `<tr>${texts.map(cell).join("")}</tr>`,
    tail: "</table>",
  };
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("\0", "\ufffd")
    .replace(/\r\n|\n|\r/g, "<br>");
}
