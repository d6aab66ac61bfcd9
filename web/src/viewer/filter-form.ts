import type { Predicate } from "../model/predicate.js";
import { type Field, filterKindOf, valueType } from "../model/schema.js";
import { dayAfter, filterValue, isDay } from "./filter-values.js";

/** How the text of a column is compared. */
export type TextOp = "contains" | "starts_with" | "eq";

/** The values of the quick filter form of one column. */
export interface FilterForm {
  /** The smallest and the largest value; empty for no bound. `< 50` and `> 50` are bounds that do not belong to it. */
  from: string;
  to: string;
  op: TextOp;
  text: string;
  /** The checked ones of `true`, `false` and `null`; all or none means any. */
  values: readonly string[];
  nulls: "any" | "only" | "none";
}

const EMPTY_FORM: FilterForm = {
  from: "",
  to: "",
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
  const conjuncts: Predicate[] = form.nulls === "none" ? [{ op: "not_null", column }] : [];
  if (kind === "range") {
    for (const [typed, isTo] of [
      [form.from, false],
      [form.to, true],
    ] as const) {
      const [, sign = "", text = ""] = /^\s*([<>]?)\s*(.*?)\s*$/.exec(typed) ?? [];
      if (sign === (isTo ? ">" : "<")) filterValue(typed.trim(), type);
      if (text === "") continue;
      const value = filterValue(text, type);
      const isOutside = sign !== "";
      const isWholeDay = isInstants(type) && isDay(value);
      if (isWholeDay && isTo !== isOutside) {
        const after = dayAfter(value, 1);
        conjuncts.push({ op: isTo ? "lt" : "ge", column, value: after });
      } else {
        const op = isTo ? (isOutside ? "lt" : "le") : isOutside ? "gt" : "ge";
        conjuncts.push({ op, column, value });
      }
    }
  }
  if (kind === "text" && form.text !== "") {
    conjuncts.push({ op: form.op, column, value: form.text });
  }
  return conjuncts;
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
    const form = withConjunct(content.form, conjunct, isInstants(field.type));
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
function withConjunct(form: FilterForm, conjunct: Predicate, isOfInstants: boolean): FilterForm {
  if ("or" in conjunct) {
    const values = conjunct.or.flatMap(
      (each) => withConjunct(EMPTY_FORM, each, isOfInstants).values,
    );
    return { ...form, values };
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
      return { ...form, to: isOfInstants && isDay(value) ? dayAfter(value, -1) : `< ${value}` };
    case "contains":
    case "starts_with":
      return { ...form, op: conjunct.op, text: value };
    case "eq":
      return { ...form, op: "eq", text: value, values: [value] };
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
