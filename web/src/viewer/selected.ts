import type { RowRange } from "../api/row-reader.js";
import type { CellRect } from "../grid/cache.js";
import type { Selection, SelectionKind } from "../grid/selection.js";

/** The selected cells of a viewer, as ranges `[start, end)` counted from 0. */
export interface ViewerSelection {
  /** `rows` includes all columns; `columns` all rows, even those that arrive later; `all` both. */
  kind: SelectionKind;
  rows: RowRange;
  columns: { start: number; end: number };
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
