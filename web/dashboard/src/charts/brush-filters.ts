import type { Predicate } from "colonnade";

/** The parts of a predicate that must all be true. */
export function conjuncts(predicate: Predicate | null | undefined): readonly Predicate[] {
  if (predicate === null || predicate === undefined) return [];
  return "and" in predicate ? predicate.and.flatMap(conjuncts) : [predicate];
}

/** One predicate of several that must all be true; null of none. */
export function conjunction(
  predicates: readonly (Predicate | null | undefined)[],
): Predicate | null {
  const parts = predicates.flatMap(conjuncts);
  const [first] = parts;
  return parts.length > 1 ? { and: parts } : (first ?? null);
}

/** A predicate as a text to compare it by. */
export function filterKey(predicate: Predicate | null): string {
  return JSON.stringify(predicate, (_, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

/**
 * Takes the predicates of brushes out of a table's filter: what is left is the table's own, and which
 * of them are not all in it.
 */
export function withoutBrushes(
  filter: Predicate | null,
  brushes: readonly (Predicate | undefined)[],
): { own: Predicate | null; missing: ReadonlySet<number> } {
  const left = [...conjuncts(filter)];
  const missing = new Set<number>();
  for (const [index, brush] of brushes.entries()) {
    for (const part of conjuncts(brush)) {
      const at = left.findIndex((each) => filterKey(each) === filterKey(part));
      if (at < 0) missing.add(index);
      else left.splice(at, 1);
    }
  }
  return { own: conjunction(left), missing };
}
