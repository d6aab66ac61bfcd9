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

/** Callbacks from the grid to its owner. */
export interface GridCallbacks {
  /** The callbacks of the header. */
  header: HeaderCallbacks;
  /** Scrolling has stopped, or rows have arrived. */
  onRest(): void;
  /** Copy the selection, or the active cell if nothing is selected. */
  onCopy(): void;
  /** Show a whole cell. */
  onOpen(position: CellPosition): void;
  /**
   * A right click, the key for menus, or the begin of a press with a finger, at a cell; the event's target is lost
   * later.
   */
  onMenu(position: CellPosition, event: Event): void;
  /** The selection changed. */
  onSelect(): void;
  /** Visible cells could not be read; undefined when all can be read again. */
  onFailure(error: unknown): void;
}
