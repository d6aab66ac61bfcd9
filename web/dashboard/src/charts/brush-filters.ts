import type { Predicate } from "colonnade";

/** The predicates whose conjunction a predicate is. */
export function conjuncts(predicate: Predicate | null | undefined): readonly Predicate[] {
  if (predicate === null || predicate === undefined) return [];
  return "and" in predicate ? predicate.and.flatMap(conjuncts) : [predicate];
}

/** The conjunction of predicates; null for none. */
export function conjunction(
  predicates: readonly (Predicate | null | undefined)[],
): Predicate | null {
  const parts = predicates.flatMap(conjuncts);
  const [first] = parts;
  return parts.length > 1 ? { and: parts } : (first ?? null);
}

/** A text that is equal for equal predicates. */
export function filterKey(predicate: Predicate | null): string {
  return JSON.stringify(predicate, (_, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

/**
 * Removes the predicates of brushes from a table's filter. Returns the table's own filter, and the
 * indices of the brushes that the filter does not fully contain.
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
