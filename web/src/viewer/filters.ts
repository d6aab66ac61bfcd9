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

/** The columns that a predicate names. One that searches all columns names those of `all`. */
export function columnsOf(
  predicate: Predicate | null,
  all: readonly string[] = [],
): ReadonlySet<string> {
  if (predicate === null) return new Set();
  if ("and" in predicate || "or" in predicate) {
    const parts = "and" in predicate ? predicate.and : predicate.or;
    return new Set(parts.flatMap((each) => [...columnsOf(each, all)]));
  }
  if ("not" in predicate) return columnsOf(predicate.not, all);
  if (predicate.op === "matches") return new Set(predicate.columns ?? all);
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
