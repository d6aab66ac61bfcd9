import type { Predicate } from "../model/predicate.js";
import type { FilterKind } from "../model/schema.js";

/** The conjuncts of a predicate. */
export function conjunctsOf(predicate: Predicate | null): readonly Predicate[] {
  if (predicate === null) return [];
  return "and" in predicate ? predicate.and.flatMap(conjunctsOf) : [predicate];
}

/** The conjunction of predicates; null for none. */
export function conjunction(conjuncts: readonly Predicate[]): Predicate | null {
  const [first] = conjuncts;
  return conjuncts.length > 1 ? { and: conjuncts } : (first ?? null);
}

/** The columns that a predicate names. */
export function columnsOf(predicate: Predicate | null): ReadonlySet<string> {
  if (predicate === null) return new Set();
  if ("and" in predicate) return new Set(predicate.and.flatMap((each) => [...columnsOf(each)]));
  if ("or" in predicate) return new Set(predicate.or.flatMap((each) => [...columnsOf(each)]));
  if ("not" in predicate) return columnsOf(predicate.not);
  return new Set([predicate.column]);
}

/** A predicate without one conjunct. */
export function withoutConjunct(
  predicate: Predicate | null,
  conjunct: Predicate,
): Predicate | null {
  return conjunction(conjunctsOf(predicate).filter((other) => other !== conjunct));
}

/** The conjuncts of a predicate that name only this column. */
export function conjunctsOfColumn(
  predicate: Predicate | null,
  column: string,
): readonly Predicate[] {
  return conjunctsOf(predicate).filter((conjunct) => isOnlyOf(conjunct, column));
}

/** A predicate with new conjuncts for one column; conjuncts of several columns stay. */
export function withConjuncts(
  predicate: Predicate | null,
  column: string,
  conjuncts: readonly Predicate[],
): Predicate | null {
  const others = conjunctsOf(predicate).filter((conjunct) => !isOnlyOf(conjunct, column));
  return conjunction([...others, ...conjuncts]);
}

function isOnlyOf(conjunct: Predicate, column: string): boolean {
  const columns = columnsOf(conjunct);
  return columns.size === 1 && columns.has(column);
}

const SIGNS = { eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥" };

/** A predicate as text: `l_quantity ≥ 50`. */
export function describePredicate(predicate: Predicate): string {
  if ("and" in predicate) return predicate.and.map(describePredicate).join(" and ");
  if ("or" in predicate) return predicate.or.map(describePredicate).join(" or ");
  if ("not" in predicate) return `not (${describePredicate(predicate.not)})`;
  const { op, column } = predicate;
  switch (op) {
    case "is_null":
      return `${column} is null`;
    case "not_null":
      return `${column} is not null`;
    case "in":
      return `${column} is one of ${predicate.value.join(", ")}`;
    case "contains":
      return `${column} contains “${predicate.value}”`;
    case "starts_with":
      return `${column} starts with “${predicate.value}”`;
    default:
      return `${column} ${SIGNS[op]} ${predicate.value}`;
  }
}

/** How the text of a column is compared. */
export type TextOp = "contains" | "starts_with" | "eq";

/** The values of the quick filter form of one column. */
export interface FilterForm {
  /** The smallest and the largest value; empty for no bound. */
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

/** The conjuncts of a form for its column. */
export function conjunctsOfForm(kind: FilterKind, column: string, form: FilterForm): Predicate[] {
  if (kind === "boolean") return booleanConjuncts(column, form.values);
  if (form.nulls === "only") return [{ op: "is_null", column }];
  const conjuncts: Predicate[] = form.nulls === "none" ? [{ op: "not_null", column }] : [];
  const [from, to] = [form.from.trim(), form.to.trim()];
  if (kind === "range" && from !== "") conjuncts.push({ op: "ge", column, value: from });
  if (kind === "range" && to !== "") {
    // The filter of a histogram bin has an exclusive upper bound, written "< 50".
    const below = /^<\s*(.+)/.exec(to)?.[1];
    conjuncts.push({ op: below === undefined ? "le" : "lt", column, value: below ?? to });
  }
  if (kind === "text" && form.text !== "")
    conjuncts.push({ op: form.op, column, value: form.text });
  return conjuncts;
}

/** The form for these conjuncts; those that the form cannot express are left out. */
export function formOfConjuncts(conjuncts: readonly Predicate[]): FilterForm {
  const form = { ...EMPTY_FORM };
  for (const conjunct of conjuncts) {
    if ("or" in conjunct)
      form.values = conjunct.or.flatMap((each) => formOfConjuncts([each]).values);
    if (!("op" in conjunct)) continue;
    if (conjunct.op === "ge") form.from = String(conjunct.value);
    if (conjunct.op === "le") form.to = String(conjunct.value);
    if (conjunct.op === "lt") form.to = `< ${conjunct.value}`;
    if (conjunct.op === "contains" || conjunct.op === "starts_with" || conjunct.op === "eq") {
      form.op = conjunct.op;
      form.text = String(conjunct.value);
    }
    if (conjunct.op === "eq") form.values = [...form.values, String(conjunct.value)];
    if (conjunct.op === "is_null") Object.assign(form, { nulls: "only", values: ["null"] });
    if (conjunct.op === "not_null")
      Object.assign(form, { nulls: "none", values: ["true", "false"] });
  }
  return form;
}

function booleanConjuncts(column: string, values: readonly string[]): Predicate[] {
  if (values.length === 0 || values.length === 3) return [];
  const alternatives = values.map(
    (value): Predicate =>
      value === "null" ? { op: "is_null", column } : { op: "eq", column, value: value === "true" },
  );
  return alternatives.length === 1 ? alternatives : [{ or: alternatives }];
}
