import type { Predicate, PredicateValue } from "colonnade";
import { quoteName, quoteText } from "../text/quote.js";
import { type ChartField, isEncoded, sqlType, valueType } from "./fields.js";

/** The source of a chart: a table of the server, or the rows of a statement. */
export type ChartSource = { table: string } | { sql: string };

/** SQL for a FROM clause. */
export function relation(source: ChartSource): string {
  if ("table" in source) return quoteName(source.table);
  return `(${withoutTrailingComments(source.sql)}) AS result`;
}

const TOKEN =
  /(?<value>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?<end>--[^\n]*|\/\*[\s\S]*?\*\/|[;\s]+)|(?<other>[\s\S])/g;

/** A statement without trailing semicolons and comments. */
function withoutTrailingComments(sql: string): string {
  let end = 0;
  for (const token of sql.matchAll(TOKEN)) {
    if (token.groups?.end === undefined) end = token.index + token[0].length;
  }
  return sql.slice(0, end);
}

/** Whether a statement has a LIMIT without ORDER BY, so that each run may return other rows. */
export function hasUnorderedLimit(sql: string): boolean {
  const words = new Set<string>();
  let depth = 0;
  const tokens = sql.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|[()]|\w+/g);
  for (const [token] of tokens) {
    if (token === "(") depth++;
    else if (token === ")") depth--;
    else if (depth === 0) words.add(token.toLowerCase());
  }
  const isCut = ["limit", "offset", "fetch"].some((word) => words.has(word));
  return isCut && !words.has("order");
}

/** SQL for a column as text; for a dictionary its values, not its keys. */
export function textSql(field: ChartField): string {
  const isText = /string/.test(valueType(field.type)) && !isEncoded(field);
  return isText ? quoteName(field.name) : `CAST(${quoteName(field.name)} AS VARCHAR)`;
}

const SIGNS = { eq: "=", ne: "<>", lt: "<", le: "<=", gt: ">", ge: ">=" } as const;
type Comparison = keyof typeof SIGNS;

/**
 * A predicate as an SQL expression that is true for the same rows as at `POST /v1/query`.
 *
 * @throws Error if it names an unknown column, compares values that cannot be compared, or searches texts as they are
 *   shown, because SQL has no such function
 */
export function predicateSql(predicate: Predicate, fields: readonly ChartField[]): string {
  if ("and" in predicate) return joined(predicate.and, " AND ", "TRUE", fields);
  if ("or" in predicate) return joined(predicate.or, " OR ", "FALSE", fields);
  if ("not" in predicate) return `(NOT ${predicateSql(predicate.not, fields)})`;
  if (predicate.op === "matches") {
    throw new Error(
      `The filter searches for “${predicate.value}”. A search cannot be charted: remove it from the filter.`,
    );
  }
  const field = fields.find(({ name }) => name === predicate.column);
  if (field === undefined) throw new Error(`There is no column ${predicate.column} to filter by.`);
  const column = quoteName(field.name);
  switch (predicate.op) {
    case "is_null":
      return `(${column} IS NULL)`;
    case "not_null":
      return `(${column} IS NOT NULL)`;
    case "contains":
      return `contains(${textSql(field)}, ${quoteText(predicate.value)})`;
    case "starts_with":
      return `starts_with(${textSql(field)}, ${quoteText(predicate.value)})`;
    case "in":
      return inSql(field, predicate.value);
    default:
      return comparisonSql(field, predicate.op, predicate.value);
  }
}

function joined(
  parts: readonly Predicate[],
  by: string,
  empty: string,
  fields: readonly ChartField[],
): string {
  if (parts.length === 0) return empty;
  return `(${parts.map((part) => predicateSql(part, fields)).join(by)})`;
}

function inSql(field: ChartField, values: readonly PredicateValue[]): string {
  if (values.length === 0) return "FALSE";
  const literals = values.flatMap((value) => {
    const literal = literalOf(field, value);
    return literal.at === "value" ? [literal.sql] : [];
  });
  if (literals.length === 0) return never(field);
  return `(${quoteName(field.name)} IN (${literals.join(", ")}))`;
}

function comparisonSql(field: ChartField, op: Comparison, value: PredicateValue): string {
  const literal = literalOf(field, value);
  if (literal.at === "value") return `(${quoteName(field.name)} ${SIGNS[op]} ${literal.sql})`;
  // The literal is between two values of the type or out of its range, so no value is equal.
  if (op === "eq") return never(field);
  if (op === "ne") return always(field);
  const isLess = op === "lt" || op === "le";
  if (literal.at === "after") {
    return `(${quoteName(field.name)} ${isLess ? "<=" : ">"} ${literal.sql})`;
  }
  return isLess === (literal.at === "above") ? always(field) : never(field);
}

/** SQL that is false for every value and null for null. */
function never({ name }: ChartField): string {
  return `(${quoteName(name)} IS NULL AND CAST(NULL AS BOOLEAN))`;
}

/** SQL that is true for every value and null for null. */
function always(field: ChartField): string {
  return `(NOT ${never(field)})`;
}

/** The position of a literal among the values of a column's type. */
type Literal = { at: "value" | "after"; sql: string } | { at: "below" | "above" };

function literalOf(field: ChartField, value: PredicateValue): Literal {
  const text = Object.is(value, -0) ? "0" : String(value);
  const values = valueType(field.type);
  const decimal = /^decimal\d+\((\d+), (-?\d+)\)$/.exec(values);
  if (decimal) return decimalOf(field, text, Number(decimal[1]), Number(decimal[2]));
  if (/binary/.test(values)) {
    const hex = text.replace(/^0x/, "");
    if (!/^([0-9a-f]{2})*$/i.test(hex)) throw notAValue(field, text);
    return { at: "value", sql: `X'${hex}'` };
  }
  // The server compares a time with the text itself, exactly.
  if (/^(?:date|time)/.test(values)) return { at: "value", sql: quoteText(text) };
  const type = sqlType(field.type);
  if (type === undefined) throw new Error(`Column ${field.name} cannot be compared.`);
  return { at: "value", sql: `arrow_cast(${quoteText(text)}, ${quoteText(type)})` };
}

/** A decimal at the column's scale: the value, or the next one below if it would be rounded. */
function decimalOf(field: ChartField, text: string, precision: number, scale: number): Literal {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text.trim());
  const [, sign, whole = "", part = "", power = "0"] = match ?? [];
  if (match === null || whole + part === "") throw notAValue(field, text);
  const digits = BigInt(whole + part);
  const exponent = Number(power) - part.length + scale;
  if (Math.abs(exponent) > 400) {
    if (digits !== 0n && exponent > 0) return { at: sign === "-" ? "below" : "above" };
  }
  const signed = sign === "-" ? -digits : digits;
  const { unscaled, isExact } = shifted(signed, Math.max(-400, Math.min(400, exponent)));
  const bound = 10n ** BigInt(precision);
  if (unscaled >= bound) return { at: "above" };
  if (unscaled <= -bound) return { at: "below" };
  const sql = `arrow_cast(${quoteText(decimalText(unscaled, scale))}, ${quoteText(sqlType(field.type) ?? "")})`;
  return { at: isExact ? "value" : "after", sql };
}

/** `digits` × 10^`exponent`, rounded down. */
function shifted(digits: bigint, exponent: number): { unscaled: bigint; isExact: boolean } {
  if (exponent >= 0) return { unscaled: digits * 10n ** BigInt(exponent), isExact: true };
  const divisor = 10n ** BigInt(-exponent);
  const rest = digits % divisor;
  return { unscaled: digits / divisor - (rest < 0n ? 1n : 0n), isExact: rest === 0n };
}

function decimalText(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function notAValue({ name, type }: ChartField, text: string): Error {
  return new Error(`“${text}” is not a valid value of column ${name}, which has the type ${type}.`);
}
