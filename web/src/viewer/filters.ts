import type { Predicate } from "../model/predicate.js";
import type { FilterKind } from "../model/schema.js";

/** The parts of a predicate that must all be true. */
export function conjuncts(predicate: Predicate | null): readonly Predicate[] {
  if (predicate === null) return [];
  return "and" in predicate ? predicate.and.flatMap(conjuncts) : [predicate];
}

/** One predicate of parts that must all be true; null of none. */
export function conjunction(parts: readonly Predicate[]): Predicate | null {
  const [first] = parts;
  return parts.length > 1 ? { and: parts } : (first ?? null);
}

/** The columns that a predicate looks at. */
export function columnsOf(predicate: Predicate | null): ReadonlySet<string> {
  if (predicate === null) return new Set();
  if ("and" in predicate) return new Set(predicate.and.flatMap((part) => [...columnsOf(part)]));
  if ("or" in predicate) return new Set(predicate.or.flatMap((part) => [...columnsOf(part)]));
  if ("not" in predicate) return columnsOf(predicate.not);
  return new Set([predicate.column]);
}

/** A predicate without one part. */
export function withoutPart(predicate: Predicate | null, part: Predicate): Predicate | null {
  return conjunction(conjuncts(predicate).filter((other) => other !== part));
}

/** The parts of a predicate that look at one column alone. */
export function partsOf(predicate: Predicate | null, column: string): readonly Predicate[] {
  return conjuncts(predicate).filter((part) => isOnlyOf(part, column));
}

/** A predicate with other parts for one column; what looks at several columns stays. */
export function withParts(
  predicate: Predicate | null,
  column: string,
  parts: readonly Predicate[],
): Predicate | null {
  const others = conjuncts(predicate).filter((part) => !isOnlyOf(part, column));
  return conjunction([...others, ...parts]);
}

function isOnlyOf(part: Predicate, column: string): boolean {
  const columns = columnsOf(part);
  return columns.size === 1 && columns.has(column);
}

const SIGNS = { eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥" };

/** A predicate in words: `l_quantity ≥ 50`. */
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

/** The quick filter of one column as it is filled in. */
export interface FilterForm {
  /** The least and the greatest value, or nothing. */
  from: string;
  to: string;
  op: TextOp;
  text: string;
  /** Which of `true`, `false` and `null` are wanted; all or none for any. */
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

/** What a form asks of its column. */
export function partsOfForm(kind: FilterKind, column: string, form: FilterForm): Predicate[] {
  if (kind === "boolean") return booleanParts(column, form.values);
  if (form.nulls === "only") return [{ op: "is_null", column }];
  const parts: Predicate[] = form.nulls === "none" ? [{ op: "not_null", column }] : [];
  const [from, to] = [form.from.trim(), form.to.trim()];
  if (kind === "range" && from !== "") parts.push({ op: "ge", column, value: from });
  if (kind === "range" && to !== "") {
    // "< 50" is what a bin of a histogram ends with.
    const below = /^<\s*(.+)/.exec(to)?.[1];
    parts.push({ op: below === undefined ? "le" : "lt", column, value: below ?? to });
  }
  if (kind === "text" && form.text !== "") parts.push({ op: form.op, column, value: form.text });
  return parts;
}

/** The form that asks these parts of a column; what no form can ask is left out. */
export function formOfParts(parts: readonly Predicate[]): FilterForm {
  const form = { ...EMPTY_FORM };
  for (const part of parts) {
    if ("or" in part) form.values = part.or.flatMap((each) => formOfParts([each]).values);
    if (!("op" in part)) continue;
    if (part.op === "ge") form.from = String(part.value);
    if (part.op === "le") form.to = String(part.value);
    if (part.op === "lt") form.to = `< ${part.value}`;
    if (part.op === "contains" || part.op === "starts_with" || part.op === "eq") {
      form.op = part.op;
      form.text = String(part.value);
    }
    if (part.op === "eq") form.values = [...form.values, String(part.value)];
    if (part.op === "is_null") Object.assign(form, { nulls: "only", values: ["null"] });
    if (part.op === "not_null") Object.assign(form, { nulls: "none", values: ["true", "false"] });
  }
  return form;
}

function booleanParts(column: string, values: readonly string[]): Predicate[] {
  if (values.length === 0 || values.length === 3) return [];
  const parts = values.map(
    (value): Predicate =>
      value === "null" ? { op: "is_null", column } : { op: "eq", column, value: value === "true" },
  );
  return parts.length === 1 ? parts : [{ or: parts }];
}
