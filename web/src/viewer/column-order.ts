import type { ShownColumns } from "../grid/column-set.js";
import type { Field } from "../model/schema.js";

/** Which columns are shown and how, by their distinct names, as JSON. */
export interface ColumnsState {
  /** The shown columns, in that order. */
  shown: readonly string[];
  /** The columns pinned at the left. */
  pinned: readonly string[];
  /** Widths set by the user, in px; other columns fit their texts. */
  widthsPx: Readonly<Record<string, number>>;
}

/** The narrowest that a column can be made, in px. */
export const MIN_WIDTH_PX = 36;

/** All columns, in the order of the table. */
export function allColumns(fields: readonly Field[]): ColumnsState {
  return { shown: fields.map(({ name }) => name), pinned: [], widthsPx: {} };
}

/** The part of a state that fits a table: existing columns, each once, pinned ones first. */
export function fittingColumns(
  fields: readonly Field[],
  { shown, pinned, widthsPx }: { [K in keyof ColumnsState]?: ColumnsState[K] | undefined },
): ColumnsState {
  const all = allColumns(fields);
  const known = new Set(all.shown);
  const names = [...new Set(shown ?? all.shown)].filter((name) => known.has(name));
  const wanted = names.length === 0 ? all.shown : names;
  const isPinned = (name: string) => pinned?.includes(name) === true;
  const first = wanted.filter(isPinned);
  return {
    shown: [...first, ...wanted.filter((name) => !isPinned(name))],
    pinned: first,
    widthsPx: { ...widthsPx },
  };
}

/** The state in the form of the grid, which identifies columns by their position in the table. */
export function gridColumns(fields: readonly Field[], state: ColumnsState): ShownColumns {
  const positions = new Map(fields.map(({ name }, position) => [name, position]));
  const widths = Object.entries(state.widthsPx).map(([name, px]) => [positions.get(name), px]);
  return {
    columns: state.shown.flatMap((name) => positions.get(name) ?? []),
    numPinned: state.pinned.length,
    widthsPx: Object.fromEntries(widths),
  };
}

/** Moves a column to a position among the shown ones; pinned columns stay together. */
export function movedColumn(state: ColumnsState, name: string, to: number): ColumnsState {
  const { shown, pinned } = state;
  const others = shown.filter((other) => other !== name);
  const isPinned = pinned.includes(name);
  const [least, greatest] = isPinned ? [0, pinned.length - 1] : [pinned.length, others.length];
  const position = Math.max(least, Math.min(to, greatest));
  const moved = [...others.slice(0, position), name, ...others.slice(position)];
  return { ...state, shown: moved, pinned: moved.filter((each) => pinned.includes(each)) };
}

/** Sets the width of a column. */
export function widenedColumn(state: ColumnsState, name: string, widthPx: number): ColumnsState {
  const width = Math.max(MIN_WIDTH_PX, Math.round(widthPx));
  return { ...state, widthsPx: { ...state.widthsPx, [name]: width } };
}
