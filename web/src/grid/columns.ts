import type { Field } from "../model/schema.js";
import { isNumericType } from "../model/schema.js";

/** How texts of a column are aligned in its cells. */
export type Alignment = "start" | "end";

/** Numbers are aligned at the end, everything else at the start. */
export function alignmentOf(field: Field): Alignment {
  return isNumericType(field.type) ? "end" : "start";
}

/** The narrowest and widest default width of a column, in px; longer texts are cut. */
export const MIN_COLUMN_PX = 60;
export const MAX_COLUMN_PX = 420;

/** Minimum width for the columns beside the pinned ones, in px. */
export const MIN_SCROLLED_PX = 120;

/** The width of a column whose widest text is this wide, in px. */
export function columnWidthPx(widestTextPx: number, paddingPx: number): number {
  const widthPx = Math.ceil(widestTextPx + paddingPx);
  return Math.max(MIN_COLUMN_PX, Math.min(MAX_COLUMN_PX, widthPx));
}

/** Where columns begin and end, in px from the start of the first one. */
export class ColumnLayout {
  /** One entry more than there are columns; the last one is the total width. */
  readonly #lefts: Float64Array;

  /** How many columns at the left are pinned and do not scroll. */
  readonly numPinned: number;

  /**
   * @param numPinned how many columns to pin; fewer are pinned if they would leave less than
   *   {@link MIN_SCROLLED_PX} of the viewport for the others
   */
  constructor(
    widthsPx: readonly number[],
    numPinned = 0,
    viewportPx: number = Number.POSITIVE_INFINITY,
  ) {
    this.#lefts = new Float64Array(widthsPx.length + 1);
    let left = 0;
    widthsPx.forEach((width, column) => {
      left += width;
      this.#lefts[column + 1] = left;
    });
    const maxPx = viewportPx - MIN_SCROLLED_PX;
    let num = numPinned;
    while (num > 0 && this.leftPx(num) > maxPx) num--;
    this.numPinned = num;
  }

  get numColumns(): number {
    return this.#lefts.length - 1;
  }

  get totalPx(): number {
    return this.leftPx(this.numColumns);
  }

  leftPx(column: number): number {
    return this.#lefts[column] ?? 0;
  }

  widthPx(column: number): number {
    return this.leftPx(column + 1) - this.leftPx(column);
  }

  /** The total width of the pinned columns. */
  get pinnedPx(): number {
    return this.leftPx(this.numPinned);
  }

  /** Where a column begins in content that is scrolled by so much; pinned columns move with it. */
  placePx(column: number, scrollLeftPx: number): number {
    return this.leftPx(column) + (column < this.numPinned ? scrollLeftPx : 0);
  }

  /**
   * Columns `[start, end)` that are at least partly inside a viewport, without the pinned ones, which
   * are always visible.
   */
  visible(scrollLeftPx: number, viewportPx: number): { start: number; end: number } {
    if (this.numColumns === this.numPinned) return { start: this.numPinned, end: this.numPinned };
    const start = Math.max(this.numPinned, this.columnAt(scrollLeftPx + this.pinnedPx));
    const end = this.columnAt(Math.max(scrollLeftPx, scrollLeftPx + viewportPx - 1)) + 1;
    return { start, end: Math.max(start, end) };
  }

  /** The scroll position nearest to this one at which a column is wholly visible. */
  reveal(column: number, scrollLeftPx: number, viewportPx: number): number {
    if (column < this.numPinned) return scrollLeftPx;
    const left = this.leftPx(column) - this.pinnedPx;
    const right = this.leftPx(column + 1);
    return Math.min(Math.max(scrollLeftPx, right - viewportPx), left);
  }

  /** The column at a position of the viewport; the nearest one if there is none. */
  columnIn(viewportXPx: number, scrollLeftPx: number): number {
    const isPinned = viewportXPx < this.pinnedPx;
    return this.columnAt(isPinned ? viewportXPx : viewportXPx + scrollLeftPx);
  }

  /** The column at a position of the content; the nearest one if there is none. */
  columnAt(px: number): number {
    let low = 0;
    let high = this.numColumns - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.leftPx(middle) <= px) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** The CSS classes of cells in pinned columns; empty for others. */
export function pinnedClass(column: number, { numPinned }: ColumnLayout): string {
  if (column >= numPinned) return "";
  return column === numPinned - 1 ? " pinned last" : " pinned";
}
