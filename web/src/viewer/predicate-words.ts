import type { Predicate, PredicateValue } from "../model/predicate.js";

const SIGNS = { eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥" };
/** Longer lists are cut. */
const MAX_VALUES = 10;
const MAX_COLUMNS = 3;

/** A predicate as text: `l_quantity ≥ 50`. */
export function describePredicate(predicate: Predicate): string {
  if ("and" in predicate) return predicate.and.map(describePredicate).join(" and ");
  if ("or" in predicate) {
    const [first, second, ...others] = predicate.or;
    const excluding = first && second && others.length === 0 ? exclusion(first) : undefined;
    const isNull = second && "op" in second && second.op === "is_null";
    if (excluding !== undefined && isNull && second.column === excluding.column) {
      return excluding.words;
    }
    return predicate.or.map(describePredicate).join(" or ");
  }
  // A comparison with null is not true.
  const excluding = exclusion(predicate);
  if (excluding !== undefined) return `${excluding.words} and is not null`;
  if ("not" in predicate) return `not (${describePredicate(predicate.not)})`;
  if (predicate.op === "matches")
    return `${searched(predicate.columns)} contains “${predicate.value}”`;
  const one = onlyOf(predicate);
  if (one !== predicate) return describePredicate(one);
  const { op, column } = predicate;
  switch (op) {
    case "is_null":
      return `${column} is null`;
    case "not_null":
      return `${column} is not null`;
    case "in":
      return `${column} is one of ${list(predicate.value)}`;
    case "contains":
      return `${column} contains “${predicate.value}”`;
    case "starts_with":
      return `${column} starts with “${predicate.value}”`;
    default:
      if (op === "eq" && predicate.value === "") return `${column} is empty`;
      return `${column} ${SIGNS[op]} ${predicate.value}`;
  }
}

/** The words for a predicate that excludes values, as if it kept nulls; undefined for others. */
function exclusion(predicate: Predicate): { column: string; words: string } | undefined {
  if ("op" in predicate && predicate.op === "ne") {
    const { column, value } = predicate;
    return { column, words: value === "" ? `${column} is not empty` : `${column} ≠ ${value}` };
  }
  const not = "not" in predicate ? onlyOf(predicate.not) : undefined;
  if (not === undefined || !("op" in not)) return undefined;
  const { op } = not;
  if (op === "eq") return exclusion({ ...not, op: "ne" });
  if (op === "in") {
    return { column: not.column, words: `${not.column} is none of ${list(not.value)}` };
  }
  if (op !== "contains") return undefined;
  return { column: not.column, words: `${not.column} does not contain “${not.value}”` };
}

/** A list of one value as a comparison with it. */
function onlyOf(predicate: Predicate): Predicate {
  if (!("op" in predicate) || predicate.op !== "in") return predicate;
  const [value] = predicate.value;
  const isOne = predicate.value.length === 1 && value !== undefined;
  return isOne ? { op: "eq", column: predicate.column, value } : predicate;
}

function list(values: readonly PredicateValue[]): string {
  const words = values.slice(0, MAX_VALUES).map((value) => (value === "" ? "(empty)" : value));
  const numLeft = values.length - words.length;
  return `${words.join(", ")}${numLeft > 0 ? ` and ${numLeft} more` : ""}`;
}

function searched(columns: readonly string[] | undefined): string {
  if (columns === undefined) return "any column";
  return columns.length > MAX_COLUMNS ? `one of ${columns.length} columns` : columns.join(" or ");
}
