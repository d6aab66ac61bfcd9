// Changes of the shown columns that only the panels make.

import type { Field } from "../model/schema.js";
import type { ColumnsState } from "./column-order.js";

/** Hides a column; the last one stays. */
export function withoutColumn(state: ColumnsState, name: string): ColumnsState {
  if (state.shown.length <= 1) return state;
  const isOther = (other: string) => other !== name;
  return { ...state, shown: state.shown.filter(isOther), pinned: state.pinned.filter(isOther) };
}

/** Shows a hidden column, after the column that it follows in the table. */
export function withColumn(
  state: ColumnsState,
  fields: readonly Field[],
  name: string,
): ColumnsState {
  if (state.shown.includes(name)) return state;
  const before = fields.slice(
    0,
    fields.findIndex((field) => field.name === name),
  );
  const previous = before.findLast((field) => state.shown.includes(field.name))?.name;
  const position = Math.max(
    state.pinned.length,
    previous === undefined ? 0 : state.shown.indexOf(previous) + 1,
  );
  return {
    ...state,
    shown: [...state.shown.slice(0, position), name, ...state.shown.slice(position)],
  };
}

/** Pins a column after the pinned ones, or unpins it. */
export function pinnedColumn(state: ColumnsState, name: string, isPinned: boolean): ColumnsState {
  const pinned = state.pinned.filter((other) => other !== name);
  const rest = state.shown.filter((other) => other !== name && !pinned.includes(other));
  return {
    ...state,
    shown: [...pinned, name, ...rest],
    pinned: isPinned ? [...pinned, name] : pinned,
  };
}
