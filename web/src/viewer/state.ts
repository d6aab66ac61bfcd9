import type { SortKey } from "../model/arrangement.js";
import { type Predicate, predicateJson } from "../model/predicate.js";
import type { ColumnsState } from "./column-order.js";

/** A state that can be stored as JSON and restored. */
export interface ViewerState {
  /** The sort keys, the most important first. */
  sort: readonly SortKey[];
  /** Which rows are shown; null for all. */
  filter: Predicate | null;
  /** Which columns are shown, in which order, and how. */
  columns: ColumnsState;
  /** The first visible row, counted from 0. */
  row: number;
  /** Whether column summaries are shown; by default, where there is room. */
  summaries: boolean;
}

/** Some of a state: absent members stay as they are. */
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
