import type { HeaderCallbacks } from "./header-input.js";
import type { CellPosition } from "./keyboard.js";

/** The progress of the table, for the grid. */
export interface GridProgress {
  /** Rows that can be read now. */
  numRows: number;
  /** The total of rows; undefined while unknown. */
  totalRows: number | undefined;
  /** Whether more rows may come. */
  isGrowing: boolean;
}

/** What the grid reports to its owner. */
export interface GridCallbacks {
  /** The callbacks of the header. */
  header: HeaderCallbacks;
  /** Scrolling has come to rest, or rows have come. */
  onRest(): void;
  /** Copy the selection, or the active cell where there is none. */
  onCopy(): void;
  /** Show a whole cell. */
  onOpen(position: CellPosition): void;
  /** Other cells are selected, or none. */
  onSelect(): void;
  /** Cells that are shown could not be read, and why; or, with undefined, none any more. */
  onFailure(error: unknown): void;
}
