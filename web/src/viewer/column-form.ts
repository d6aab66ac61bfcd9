import type { Predicate } from "../model/predicate.js";
import type { FilterKind } from "../model/schema.js";

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
