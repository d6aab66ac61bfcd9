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

/** How CSV is written. */
export interface CsvOptions {
  /** What separates the fields; default a comma. */
  delimiter?: "," | ";" | "\t" | undefined;
  /** The decimal sign of floats and decimals; default a point. Fields with a delimiter are quoted. */
  decimal?: "." | "," | undefined;
  /** Whether CSV has `'` before texts that a spreadsheet would run as formulas; default false. */
  escapeFormulas?: boolean | undefined;
}

/**
 * A writer for some columns. In TSV and CSV a null is an empty field and the empty text is `""`, as in
 * the server's CSV. In every format numbers keep all their digits.
 *
 * @param hasHeader whether TSV and CSV begin with the column names
 */
export function rowsWriter(
  format: CopyFormat | "ndjson",
  fields: readonly Field[],
  hasHeader: boolean,
  csv: CsvOptions = {},
): RowsWriter {
  switch (format) {
    case "tsv":
      return separated(fields, hasHeader, { delimiter: "\t" });
    case "csv":
      return separated(fields, hasHeader, csv);
    case "json":
      return json(fields);
    case "ndjson":
      return ndjson(fields);
    case "markdown":
      return markdown(fields);
  }
}

/**
 * Texts that a spreadsheet may run, as in the server's CSV: also behind what an import strips.
 * <https://owasp.org/www-community/attacks/CSV_Injection>
 */
const FORMULA =
  /^(?:[\t\r\n]|[\s\p{Cc}"'\u200b-\u200f\u2060\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20])/u;

function separated(
  fields: readonly Field[],
  hasHeader: boolean,
  { delimiter = ",", decimal = ".", escapeFormulas = false }: CsvOptions,
): RowsWriter {
  const quote = (text: string | null, isEscaped: boolean) => {
    if (text === null) return "";
    const isFormula = isEscaped && FORMULA.test(text);
    const isPlain = text !== "" && !/["\n\r]/.test(text) && !text.includes(delimiter);
    if (isPlain && !isFormula && !/^ | $/.test(text)) return text;
    return `"${isFormula ? "'" : ""}${text.replaceAll('"', '""')}"`;
  };
  const areEscaped = fields.map(({ type }) => escapeFormulas && /string|union/.test(type));
  const haveDecimals = fields.map(({ type }) => decimal !== "." && isNumericType(type));
  const line = (texts: readonly (string | null)[]) =>
    texts
      .map((text, index) => {
        const written = haveDecimals[index] ? (text?.replace(".", decimal) ?? null) : text;
        return quote(written, areEscaped[index] === true);
      })
      .join(delimiter);
  const names = fields.map(({ name }) => quote(name, escapeFormulas)).join(delimiter);
  return {
    head: hasHeader ? `${names}\n` : "",
    row: (texts) => `${line(texts)}\n`,
    tail: "",
  };
}

function json(fields: readonly Field[]): RowsWriter {
  const object = objectWriter(fields);
  return {
    head: "[",
    row: (texts, isFirst) => `${isFirst ? "\n" : ",\n"}${object(texts)}`,
    tail: "\n]\n",
  };
}

function ndjson(fields: readonly Field[]): RowsWriter {
  const object = objectWriter(fields);
  return { head: "", row: (texts) => `${object(texts)}\n`, tail: "" };
}

function objectWriter(fields: readonly Field[]): (texts: readonly (string | null)[]) => string {
  const keys = distinctNames(fields.map(({ name }) => name)).map((name) => JSON.stringify(name));
  const writers = fields.map(jsonWriter);
  return (texts) => {
    const members = texts.map((text, index) => {
      return `${keys[index]}:${text === null ? "null" : writers[index]?.(text)}`;
    });
    return `{${members.join(",")}}`;
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

/**
 * Writes an HTML table for spreadsheets and documents, with the names of `fields` if they are given. Numbers of more
 * than 15 digits are marked as text.
 */
export function htmlWriter(fields: readonly Field[] = []): RowsWriter {
  const cell = (text: string | null) => {
    const digits = /^[-+]?[\d.]+$/.test(text ?? "") ? (text?.replace(/\D/g, "").length ?? 0) : 0;
    const style = digits > MAX_SAFE_DIGITS ? ` style='mso-number-format:"\\@"'` : "";
    return `<td${style}>${escapeHtml(text ?? "")}</td>`;
  };
  const names = fields.map(({ name }) => `<th>${escapeHtml(name)}</th>`).join("");
  return {
    head: `<table>${names && `<tr>${names}</tr>`}`,
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
