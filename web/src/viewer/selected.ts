import type { ColumnValues, RowRange } from "../api/row-reader.js";
import type { CellRect } from "../grid/cache.js";
import type { Selection, SelectionKind } from "../grid/selection.js";

/** The selected cells of a viewer, as ranges `[start, end)` counted from 0. */
export interface ViewerSelection {
  /** `rows` includes all columns; `columns` all rows, even those that arrive later; `all` both. */
  kind: SelectionKind;
  rows: RowRange;
  columns: { start: number; end: number };
}

/** The values of the selected cells, by columns. */
export interface SelectedValues {
  /** The selected columns from left to right, with the values and validity of the selected rows from top to bottom. */
  columns: ({ name: string } & ColumnValues)[];
  rows: RowRange;
}

/** Options of `selectedValues`. */
export interface SelectedValuesOptions {
  /** The most cells; a larger selection is refused. Default 1,000,000. */
  maxCells?: number | undefined;
}

/** The row that the user activated, by a double click or Enter. */
export interface ViewerActivation {
  /** The number of the shown row, from 0. */
  row: number;
  /** The row's number in the table; null if the server ordered the rows. */
  rowNumber: number | null;
  /** The name of the column with the activated cell. */
  column: string;
  /** The values of all columns by name, as in {@link ColumnValues}; null for a null. */
  values: Record<string, number | bigint | string | null>;
}

/** A grid's selection as the element reports it. */
export function viewerSelection({
  selection,
  rect,
}: {
  selection: Selection | undefined;
  rect: CellRect | undefined;
}): ViewerSelection | null {
  if (selection === undefined || rect === undefined) return null;
  return {
    kind: selection.kind,
    rows: { start: rect.rowStart, end: rect.rowEnd },
    columns: { start: rect.columnStart, end: rect.columnEnd },
  };
}

/** The grid's selection for one that the page sets. */
export function gridSelection({ kind, rows, columns }: ViewerSelection): Selection {
  return {
    kind,
    anchor: { row: rows.start, column: columns.start },
    head: {
      row: Math.max(rows.start, rows.end - 1),
      column: Math.max(columns.start, columns.end - 1),
    },
  };
}
