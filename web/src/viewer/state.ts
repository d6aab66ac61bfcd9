import type { SortKey } from "../model/arrangement.js";
import { isPredicate, type Predicate, predicateJson } from "../model/predicate.js";
import type { ColumnsState } from "./column-order.js";

/** The state of a viewer, which can be stored as JSON and restored. */
export interface ViewerState {
  /** The sort keys, the most important first. */
  sort: readonly SortKey[];
  /** The filter of the rows; null for all rows. */
  filter: Predicate | null;
  /** Which columns are shown, in which order, and how. */
  columns: ColumnsState;
  /** The first visible row, counted from 0. */
  row: number;
  /** Whether column summaries are shown; by default, if there is room. */
  summaries: boolean;
}

/** A part of a state; absent members stay as they are. */
export interface ViewerStateInput extends Partial<Omit<ViewerState, "columns">> {
  columns?: { [K in keyof ColumnsState]?: ColumnsState[K] | undefined };
}

/** The members of a state from outside that have their types; a warning names the others. */
export function checkedState(state: ViewerStateInput): ViewerStateInput {
  const { columns, ...rest } = state ?? {};
  const isList = (value: unknown, isItem: (item: unknown) => boolean) =>
    Array.isArray(value) && value.every(isItem);
  const isNames = (value: unknown) => isList(value, (name) => typeof name === "string");
  return {
    ...checked(rest, {
      sort: (value) => isList(value, (key) => typeof (key as SortKey)?.column === "string"),
      filter: (value) => value === null || isPredicate(value),
      row: (value) => Number.isFinite(value),
      summaries: (value) => typeof value === "boolean",
    }),
    ...(columns && {
      columns: checked(columns, {
        shown: isNames,
        pinned: isNames,
        widthsPx: (value) => isList(Object.values(value ?? [null]), Number.isFinite),
      }),
    }),
  };
}

function checked<T extends object>(
  members: T,
  checks: Record<keyof T, (value: unknown) => boolean>,
): T {
  const known = Object.entries(members).filter(([name, value]) => {
    const isGood = value === undefined || checks[name as keyof T]?.(value) === true;
    if (!isGood) console.warn(`colonnade-viewer: state.${name} cannot be`, value);
    return isGood;
  });
  return Object.fromEntries(known) as T;
}

/** A state, changed by what another one names. */
export function mergedState(
  state: ViewerStateInput | undefined,
  changed: ViewerStateInput,
): ViewerStateInput {
  const merged = { ...state, ...changed };
  if (changed.columns !== undefined) merged.columns = { ...state?.columns, ...changed.columns };
  return merged;
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
