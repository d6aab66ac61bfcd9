import type { HeaderCallbacks } from "./header-input.js";
import type { CellPosition } from "./keyboard.js";

/** What the grid needs to know of its table as it grows. */
export interface GridProgress {
  /** Rows that can be read now. */
  numRows: number;
  /** Rows there will be; undefined while nobody knows. */
  totalRows: number | undefined;
  /** Whether more rows may come. */
  isGrowing: boolean;
}

/** What the grid reports to its owner. */
export interface GridCallbacks {
  /** What is asked for at the header. */
  header: HeaderCallbacks;
  /** Scrolling has come to rest, or rows have come. */
  onRest(): void;
  /** The selection was asked to be copied, or the active cell where there is none. */
  onCopy(): void;
  /** A cell was asked to be shown whole. */
  onOpen(position: CellPosition): void;
  /** Other cells are selected, or none. */
  onSelect(): void;
  /** Cells that are shown could not be read, and why; or, with undefined, none any more. */
  onFailure(error: unknown): void;
}
