import type { SortKey } from "../messages.js";
import type { Predicate } from "../predicate.js";

/** What can be stored as JSON and given back to show the same again. */
export interface ViewerState {
  /** What rows are sorted by, the most important key first. */
  sort: readonly SortKey[];
  /** Which rows are shown; null for all. */
  filter: Predicate | null;
  /** The first visible row, counted from 0. */
  row: number;
}
