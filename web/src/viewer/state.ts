import type { SortKey } from "../messages.js";
import type { Predicate } from "../predicate.js";
import type { ColumnsState } from "./column-order.js";

/** What can be stored as JSON and given back to show the same again. */
export interface ViewerState {
  /** What rows are sorted by, the most important key first. */
  sort: readonly SortKey[];
  /** Which rows are shown; null for all. */
  filter: Predicate | null;
  /** Which columns are shown, in which order, and how. */
  columns: ColumnsState;
  /** The first visible row, counted from 0. */
  row: number;
}

/** Some of a state: what it does not say stays as it is. */
export interface ViewerStateInput extends Partial<Omit<ViewerState, "columns">> {
  columns?: { [K in keyof ColumnsState]?: ColumnsState[K] | undefined };
}
