import type { Predicate } from "../model/predicate.js";
import { type Field, filterKindOf, valueType } from "../model/schema.js";
import { dayAfter, filterValue, isDay } from "./filter-values.js";

/** How the text of a column is compared. */
export type TextOp = "contains" | "starts_with" | "eq" | "in" | "empty" | Exclusion;

/** Comparisons that exclude values. They keep nulls, unless nulls are excluded as well. */
type Exclusion = "not_contains" | "ne" | "not_in" | "not_empty";

const EXCLUSIONS: readonly string[] = ["not_contains", "ne", "not_in", "not_empty"];

/** The values of the quick filter form of one column. */
export interface FilterForm {
  /** The smallest and the largest value; empty for no bound. `< 50` and `> 50` are bounds that do not belong to it. */
  from: string;
  to: string;
  /** A number or time to exclude; empty for none. */
  not: string;
  op: TextOp;
  /** One text; for `in` and `not_in`, a list that {@link valuesOfList} reads. */
  text: string;
  /** The checked ones of `true`, `false` and `null`; all or none means any. */
  values: readonly string[];
  /** Of a column of text, `also`: nulls pass besides the texts. */
  nulls: "any" | "only" | "none" | "also";
}

/** A form without conditions. */
export const EMPTY_FORM: FilterForm = {
  from: "",
  to: "",
  not: "",
  op: "contains",
  text: "",
  values: [],
  nulls: "any",
};

/**
 * The conjuncts of a form for its column. In a column of timestamps, a day is the whole day.
 *
 * @throws FilterValueError a bound cannot be read
 */
export function conjunctsOfForm({ name: column, type }: Field, form: FilterForm): Predicate[] {
  const kind = filterKindOf(type);
  if (kind === "boolean") return booleanConjuncts(column, form.values);
  if (form.nulls === "only") return [{ op: "is_null", column }];
  const conjuncts =
    kind === "range"
      ? rangeConjuncts(column, type, form)
      : kind === "text"
        ? textConjuncts(column, form)
        : [];
  const excludes = kind === "range" ? form.not.trim() !== "" : isExclusion(form.op);
  const isImplied = excludes && conjuncts.length > 0;
  if (form.nulls === "none" && !isImplied) conjuncts.unshift({ op: "not_null", column });
  return conjuncts;
}

function rangeConjuncts(column: string, type: string, form: FilterForm): Predicate[] {
  const conjuncts: Predicate[] = [];
  const isWholeDay = (value: string) => isInstants(type) && isDay(value);
  for (const [typed, isTo] of [
    [form.from, false],
    [form.to, true],
  ] as const) {
    const [, sign = "", text = ""] = /^\s*([<>]?)\s*(.*?)\s*$/.exec(typed) ?? [];
    if (sign === (isTo ? ">" : "<")) filterValue(typed.trim(), type);
    if (text === "") continue;
    const value = filterValue(text, type);
    const isOutside = sign !== "";
    if (isWholeDay(value) && isTo !== isOutside) {
      const after = dayAfter(value, 1);
      conjuncts.push({ op: isTo ? "lt" : "ge", column, value: after });
    } else {
      const op = isTo ? (isOutside ? "lt" : "le") : isOutside ? "gt" : "ge";
      conjuncts.push({ op, column, value });
    }
  }
  if (form.not.trim() === "") return conjuncts;
  const value = filterValue(form.not.trim(), type);
  const others: Predicate[] = isWholeDay(value)
    ? [
        { op: "lt", column, value },
        { op: "ge", column, value: dayAfter(value, 1) },
      ]
    : [{ op: "ne", column, value }];
  return [...conjuncts, withNulls(column, others, form.nulls !== "none")];
}

function textConjuncts(column: string, { op, text, nulls }: FilterForm): Predicate[] {
  const isList = op === "in" || op === "not_in";
  const isEmpty = op === "empty" || op === "not_empty";
  const list = isList ? valuesOfList(text) : isEmpty ? [""] : text === "" ? [] : [text];
  const [value] = list;
  if (value === undefined) return [];
  const predicates: Record<TextOp, Predicate> = {
    contains: { op: "contains", column, value },
    starts_with: { op: "starts_with", column, value },
    eq: { op: "eq", column, value },
    in: { op: "in", column, value: list },
    empty: { op: "eq", column, value },
    not_contains: { not: { op: "contains", column, value } },
    ne: { op: "ne", column, value },
    not_in: { not: { op: "in", column, value: list } },
    not_empty: { op: "ne", column, value },
  };
  const mayBeNull = nulls === "also" || (nulls === "any" && isExclusion(op));
  return [withNulls(column, [predicates[op]], mayBeNull)];
}

function withNulls(column: string, alternatives: Predicate[], mayBeNull: boolean): Predicate {
  const all: Predicate[] = mayBeNull
    ? [...alternatives, { op: "is_null", column }]
    : [...alternatives];
  const [only] = all;
  return all.length === 1 && only ? only : { or: all };
}

function isExclusion(op: TextOp): op is Exclusion {
  return EXCLUSIONS.includes(op);
}

/** The values of a list separated by commas, each once. In double quotes, a value may hold commas, or be empty. */
export function valuesOfList(text: string): string[] {
  const items = text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/g);
  const values = [...items].map(([, quoted, plain = ""]) =>
    quoted === undefined ? plain.trim() || undefined : quoted.replaceAll('""', '"'),
  );
  return [...new Set(values)].filter((value) => value !== undefined);
}

/** The text of which {@link valuesOfList} makes these values. */
export function listOfValues(values: Iterable<string>): string {
  const isPlain = (value: string) => value === value.trim() && /^[^,"\r\n]+$/.test(value);
  return [...values]
    .map((value) => (isPlain(value) ? value : `"${value.replaceAll('"', '""')}"`))
    .join(", ");
}

/** The checked values of a list of all values. */
export interface Choice {
  /** Whether `values` are those that are not checked. */
  isExcluding: boolean;
  values: ReadonlySet<string>;
  /** Whether null is checked. */
  hasNull: boolean;
}

/** What a form chooses of all texts; a condition that is no list of values excludes none of them. */
export function choiceOfForm({ op, text, nulls }: FilterForm): Choice {
  if (nulls === "only") return { isExcluding: false, values: new Set(), hasNull: true };
  const lists: Partial<Record<TextOp, readonly string[]>> = {
    in: valuesOfList(text),
    not_in: valuesOfList(text),
    eq: [text],
    ne: [text],
    empty: [""],
    not_empty: [""],
  };
  const list = (op === "eq" || op === "ne") && text === "" ? undefined : lists[op];
  const isExcluding = list === undefined || isExclusion(op);
  const hasNull = isExcluding ? nulls !== "none" : nulls === "also";
  return { isExcluding, values: new Set(list), hasNull };
}

/** The form that makes a choice. */
export function formOfChoice({ isExcluding, values, hasNull }: Choice): FilterForm {
  const text = listOfValues(values);
  if (isExcluding) {
    const op = values.size === 0 ? "contains" : "not_in";
    return { ...EMPTY_FORM, op, text, nulls: hasNull ? "any" : "none" };
  }
  const nulls = !hasNull ? "any" : values.size === 0 ? "only" : "also";
  return { ...EMPTY_FORM, op: "in", text, nulls };
}

/** What a form shows of the conjuncts of its column. */
export interface FormContent {
  form: FilterForm;
  /** The conjuncts that the form shows. */
  edited: readonly Predicate[];
  /** Those that it cannot express, and leaves alone. */
  others: readonly Predicate[];
}

/** Divides the conjuncts of a column into those that its form gives back, and others. */
export function formOfConjuncts(field: Field, conjuncts: readonly Predicate[]): FormContent {
  let content: FormContent = { form: EMPTY_FORM, edited: [], others: [] };
  for (const conjunct of conjuncts) {
    const form = withConjunct(content.form, conjunct, field);
    const edited = [...content.edited, conjunct];
    content = isSame(givenBack(field, form), edited)
      ? { ...content, form, edited }
      : { ...content, others: [...content.others, conjunct] };
  }
  return content;
}

function givenBack(field: Field, form: FilterForm): Predicate[] {
  try {
    return conjunctsOfForm(field, form);
  } catch {
    return [];
  }
}

/** Whether two lists have the same conjuncts; numbers and their texts are the same. */
export function isSame(some: readonly Predicate[], others: readonly Predicate[]): boolean {
  const texts = (list: readonly Predicate[]) =>
    list
      .map((each) => JSON.stringify(each, (_, value) => (isScalar(value) ? String(value) : value)))
      .sort()
      .join();
  return texts(some) === texts(others);
}

function isScalar(value: unknown): boolean {
  return ["number", "bigint", "boolean"].includes(typeof value);
}

/** The form after a conjunct that it may not be able to express. */
function withConjunct(form: FilterForm, conjunct: Predicate, field: Field): FilterForm {
  if ("or" in conjunct) {
    const [first = EMPTY_FORM] = conjunct.or.map((each) => withConjunct(EMPTY_FORM, each, field));
    const [least] = conjunct.or;
    const not = least && "value" in least ? String(least.value) : "";
    const values = conjunct.or.flatMap((each) => withConjunct(EMPTY_FORM, each, field).values);
    const isOfTexts = filterKindOf(field.type) === "text" && !isExclusion(first.op);
    const hasNull = conjunct.or.some((each) => "op" in each && each.op === "is_null");
    const nulls = !hasNull ? "none" : isOfTexts ? "also" : "any";
    return { ...form, op: first.op, text: first.text, not, values, nulls };
  }
  if ("not" in conjunct) {
    const { op, text } = withConjunct(EMPTY_FORM, conjunct.not, field);
    return { ...form, op: op === "in" ? "not_in" : "not_contains", text, nulls: "none" };
  }
  if (!("op" in conjunct)) return form;
  const value = "value" in conjunct ? String(conjunct.value) : "";
  switch (conjunct.op) {
    case "ge":
      return { ...form, from: value };
    case "gt":
      return { ...form, from: `> ${value}` };
    case "le":
      return { ...form, to: value };
    case "lt":
      return {
        ...form,
        to: isInstants(field.type) && isDay(value) ? dayAfter(value, -1) : `< ${value}`,
      };
    case "contains":
    case "starts_with":
      return { ...form, op: conjunct.op, text: value };
    case "in":
      return { ...form, op: "in", text: listOfValues(conjunct.value.map(String)) };
    case "eq":
      return { ...form, op: value === "" ? "empty" : "eq", text: value, values: [value] };
    case "ne":
      return {
        ...form,
        op: value === "" ? "not_empty" : "ne",
        text: value,
        not: value,
        nulls: "none",
      };
    case "is_null":
      return { ...form, nulls: "only", values: ["null"] };
    case "not_null":
      return { ...form, nulls: "none", values: ["true", "false"] };
    default:
      return form;
  }
}

function isInstants(type: string): boolean {
  return valueType(type).startsWith("timestamp");
}

function booleanConjuncts(column: string, values: readonly string[]): Predicate[] {
  if (values.length === 0 || values.length === 3) return [];
  const alternatives = values.map(
    (value): Predicate =>
      value === "null" ? { op: "is_null", column } : { op: "eq", column, value: value === "true" },
  );
  return alternatives.length === 1 ? alternatives : [{ or: alternatives }];
}
