import type { Predicate } from "../model/predicate.js";

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

/** The columns that a predicate names; `matches` without columns, which is about all of them, names none. */
export function columnsOf(predicate: Predicate | null): ReadonlySet<string> {
  if (predicate === null) return new Set();
  if ("and" in predicate) return new Set(predicate.and.flatMap((each) => [...columnsOf(each)]));
  if ("or" in predicate) return new Set(predicate.or.flatMap((each) => [...columnsOf(each)]));
  if ("not" in predicate) return columnsOf(predicate.not);
  if (predicate.op === "matches") return new Set(predicate.columns);
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
  if (predicate.op === "matches") {
    return `${predicate.columns?.join(" or ") ?? "any column"} contains “${predicate.value}”`;
  }
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
