import type { SortKey } from "../model/arrangement.js";
import { type Predicate, predicateJson } from "../model/predicate.js";
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
  /** Whether columns are shown in short below their names; unless told, where there is room. */
  summaries: boolean;
}

/** Some of a state: what it does not say stays as it is. */
export interface ViewerStateInput extends Partial<Omit<ViewerState, "columns">> {
  columns?: { [K in keyof ColumnsState]?: ColumnsState[K] | undefined };
}

/** Compares a state with the previous one. */
export class StateChange {
  #json: string | undefined;

  /** Whether the state differs from the previous one; false for the first. */
  isChanged(state: ViewerState): boolean {
    const before = this.#json;
    const filter = state.filter && predicateJson(state.filter);
    this.#json = JSON.stringify({ ...state, filter });
    return before !== undefined && before !== this.#json;
  }
}
