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
  /**
   * Copy the selection, or the active cell if nothing is selected.
   *
   * @param data the data of the browser's own command, e.g. in its menu; null or undefined for a key
   */
  onCopy(data?: DataTransfer | null): void;
  /** Show a whole cell. */
  onOpen(position: CellPosition): void;
  /** The selection changed. */
  onSelect(): void;
  /** Visible cells could not be read; undefined when all can be read again. */
  onFailure(error: unknown): void;
}
