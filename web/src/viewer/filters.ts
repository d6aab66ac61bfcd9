import type { Predicate } from "../predicate.js";

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
