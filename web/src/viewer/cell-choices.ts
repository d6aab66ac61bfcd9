import type { Predicate } from "../model/predicate.js";
import { type Field, filterKindOf } from "../model/schema.js";
import { conjunctsOfColumn, withConjuncts } from "./filters.js";

/** A filter that the menu of a cell offers. */
export interface CellChoice {
  /** What it does, followed by the value. */
  label: string;
  value: string;
  conjunct: Predicate;
  /** The operators of the column's other conjuncts that it makes wrong or idle; undefined for all conjuncts. */
  replaces: readonly string[] | undefined;
}

/** Longer values are not compared, because a filter is part of addresses. */
const MAX_CHARS = 1000;
/** More different values are not offered as a filter. */
const MAX_VALUES = 500;
/** Longer values are cut in labels. */
const MAX_LABEL_CHARS = 40;

/**
 * The filters by a cell. Text, booleans, numbers, dates and times can be compared.
 *
 * @param text the exact text; null for a null, undefined if it cannot be compared
 */
export function cellChoices(field: Field, text: string | null | undefined): CellChoice[] {
  const column = field.name;
  if (text === null) {
    return [
      { label: "Is null", value: "", conjunct: { op: "is_null", column }, replaces: undefined },
      isNotNull(field, ["is_null", "not_null"]),
    ];
  }
  const kind = filterKindOf(field.type);
  if (kind === "nulls" || text === undefined || text.length > MAX_CHARS) {
    return [isNotNull(field, ["not_null"])];
  }
  const value = operandOf(field, text);
  const shown = labelOf(text);
  const differs: Predicate = { op: "ne", column, value };
  const choices: CellChoice[] = [
    { label: "Equals", value: shown, conjunct: { op: "eq", column, value }, replaces: undefined },
    {
      label: "Does not equal",
      value: shown,
      conjunct: field.nullable ? { or: [differs, { op: "is_null", column }] } : differs,
      replaces: ["eq"],
    },
  ];
  if (kind !== "range" || text === "NaN") return choices;
  return [
    ...choices,
    {
      label: "Greater than",
      value: shown,
      conjunct: { op: "gt", column, value },
      replaces: ["eq", "gt", "ge"],
    },
    {
      label: "Less than",
      value: shown,
      conjunct: { op: "lt", column, value },
      replaces: ["eq", "lt", "le"],
    },
  ];
}

/**
 * The filter by the values of selected cells of one column.
 *
 * @param texts the exact texts; null for a null, undefined for what cannot be compared
 * @returns undefined if there is no such filter, or one value alone
 */
export function valuesChoice(
  field: Field,
  texts: readonly (string | null | undefined)[],
): CellChoice | undefined {
  const distinct = [...new Set(texts)];
  const known = distinct.filter((text) => typeof text === "string");
  const isLong = known.some((text) => text.length > MAX_CHARS);
  if (distinct.length < 2 || distinct.length > MAX_VALUES || isLong) return undefined;
  if (filterKindOf(field.type) === "nulls" || distinct.includes(undefined)) return undefined;
  const column = field.name;
  const value = known.map((text) => operandOf(field, text));
  const isOneOf: Predicate = { op: "in", column, value };
  const hasNulls = distinct.includes(null);
  return {
    label: "Only these",
    value: `${distinct.length} values`,
    conjunct: hasNulls ? { or: [isOneOf, { op: "is_null", column }] } : isOneOf,
    replaces: undefined,
  };
}

/** A filter with a choice, without the conjuncts of the same column that the choice replaces. */
export function withChoice(
  filter: Predicate | null,
  { name }: Field,
  { conjunct, replaces }: CellChoice,
): Predicate | null {
  const kept = conjunctsOfColumn(filter, name).filter(
    (each) => replaces !== undefined && !("op" in each && replaces.includes(each.op)),
  );
  return withConjuncts(filter, name, [...kept, conjunct]);
}

function isNotNull({ name: column }: Field, replaces: readonly string[]): CellChoice {
  return { label: "Is not null", value: "", conjunct: { op: "not_null", column }, replaces };
}

function operandOf({ type }: Field, text: string): string | boolean {
  return filterKindOf(type) === "boolean" ? text === "true" : text;
}

function labelOf(text: string): string {
  const chars = [...text.slice(0, 2 * MAX_LABEL_CHARS + 2)];
  if (chars.length > MAX_LABEL_CHARS) return `${chars.slice(0, MAX_LABEL_CHARS).join("")}…`;
  return text === "" ? "“”" : text;
}
