/** The header's row, above row 0. */
export const HEADER_ROW = -1;

/** A cell by its row and column, both counted from 0; the header is {@link HEADER_ROW}. */
export interface CellPosition {
  row: number;
  column: number;
}

/** The bounds of a movement. */
export interface Extent {
  numRows: number;
  numColumns: number;
  /** Rows that Page Up and Page Down move by. */
  pageRows: number;
}

/** The fields of a KeyboardEvent that decide the target of a move. */
export interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/**
 * The lower-case letter of a shortcut with Ctrl or Cmd alone; undefined for other keys. A layout without Latin letters
 * has the shortcuts of the US layout, at the same keys.
 */
export function commandLetter(
  event: Key & { shiftKey: boolean; code: string },
): string | undefined {
  const { key, code, altKey, shiftKey, ctrlKey, metaKey } = event;
  if (altKey || shiftKey || (!ctrlKey && !metaKey)) return undefined;
  const letter = /^[a-z]$/i.test(key) ? key : /^Key(.)$/.exec(key < "\x7f" ? "" : code)?.[1];
  return letter?.toLowerCase();
}

/**
 * Where a key of the ARIA grid pattern moves the focus; undefined for other keys. Cmd works like Ctrl:
 * with either, an arrow moves to the edge.
 */
export function moveFocus(key: Key, from: CellPosition, extent: Extent): CellPosition | undefined {
  if (key.altKey) return undefined;
  const isFar = key.ctrlKey || key.metaKey;
  const lastRow = extent.numRows - 1;
  const lastColumn = extent.numColumns - 1;
  const to = (row: number, column: number): CellPosition => ({
    row: Math.max(HEADER_ROW, Math.min(row, lastRow)),
    column: Math.max(0, Math.min(column, lastColumn)),
  });
  const { row, column } = from;
  switch (key.key) {
    case "ArrowUp":
      return to(isFar ? 0 : row - 1, column);
    case "ArrowDown":
      return to(isFar ? lastRow : row + 1, column);
    case "ArrowLeft":
      return to(row, isFar ? 0 : column - 1);
    case "ArrowRight":
      return to(row, isFar ? lastColumn : column + 1);
    case "PageUp":
      return isFar ? undefined : to(Math.max(Math.min(row, 0), row - extent.pageRows), column);
    case "PageDown":
      return isFar ? undefined : to(row + extent.pageRows, column);
    case "Home":
      return to(isFar ? 0 : row, 0);
    case "End":
      return to(isFar ? lastRow : row, lastColumn);
    default:
      return undefined;
  }
}
