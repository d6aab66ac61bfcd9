import type { CellRect } from "./cache.js";
import type { CellPosition } from "./keyboard.js";

/** The kind of a selection: a rectangle of cells, whole rows, whole columns, or everything. */
export type SelectionKind = "cells" | "rows" | "columns" | "all";

/** A selection from the cell where it began (`anchor`) to the one where it ends (`head`), both inclusive. */
export interface Selection {
  kind: SelectionKind;
  anchor: CellPosition;
  head: CellPosition;
}

/** The selection of one cell. */
export function cellSelection(position: CellPosition): Selection {
  return { kind: "cells", anchor: position, head: position };
}

/** The selection extended to another cell. No selection becomes that cell alone. */
export function extended(selection: Selection | undefined, head: CellPosition): Selection {
  if (selection === undefined) return cellSelection(head);
  const { kind, anchor } = selection;
  // Whole rows become a rectangle of cells when the head moves sideways; columns likewise.
  const isKept =
    (kind === "rows" && head.column === selection.head.column) ||
    (kind === "columns" && head.row === selection.head.row);
  return { kind: isKept ? kind : "cells", anchor, head };
}

/** The cells of a selection, as ranges that exclude their ends. */
export function selectionRect(
  { kind, anchor, head }: Selection,
  numRows: number,
  numColumns: number,
): CellRect {
  const hasAllRows = kind === "columns" || kind === "all";
  const hasAllColumns = kind === "rows" || kind === "all";
  return {
    rowStart: hasAllRows ? 0 : Math.min(numRows, anchor.row, head.row),
    rowEnd: hasAllRows ? numRows : Math.min(numRows, Math.max(anchor.row, head.row) + 1),
    columnStart: hasAllColumns ? 0 : Math.min(numColumns, anchor.column, head.column),
    columnEnd: hasAllColumns
      ? numColumns
      : Math.min(numColumns, Math.max(anchor.column, head.column) + 1),
  };
}

/** The number of cells of a rectangle. */
export function numCells({ rowStart, rowEnd, columnStart, columnEnd }: CellRect): number {
  return (rowEnd - rowStart) * (columnEnd - columnStart);
}

/** Whether a rectangle contains a cell. */
export function contains(rect: CellRect | undefined, row: number, column: number): boolean {
  return (
    rect !== undefined &&
    row >= rect.rowStart &&
    row < rect.rowEnd &&
    column >= rect.columnStart &&
    column < rect.columnEnd
  );
}
