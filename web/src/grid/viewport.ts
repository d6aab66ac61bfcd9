import type { ColumnLayout } from "./columns.js";
import type { CellPosition } from "./keyboard.js";
import {
  clampTopRow,
  revealRow,
  type ScrollGeometry,
  scrolledTo,
  scrollTopFor,
  spacerPx,
  visibleRows,
} from "./scroll.js";

/** A scroll event this soon after a wheel or touch event was caused by it. */
const GESTURE_MS = 200;

/** The visible area: its sizes and its position; {@link topRow} alone defines the position. */
export class Viewport {
  readonly #scroller: HTMLElement;
  /** The spacer, which gives the scroller its scrollbars. */
  readonly #content: HTMLElement;
  numRows = 0;
  rowHeightPx = 30;
  headerHeightPx = 46;
  /** The width of the row numbers. */
  gutterPx = 0;
  #heightPx = 0;
  #widthPx = 0;
  #topRow = 0;
  #scrollTopPx = 0;
  #scrollLeftPx = 0;
  #gestureMs = Number.NEGATIVE_INFINITY;

  constructor(scroller: HTMLElement, content: HTMLElement) {
    this.#scroller = scroller;
    this.#content = content;
  }

  /** The row at the upper edge, and the fraction of it above the edge. */
  get topRow(): number {
    return this.#topRow;
  }

  get scrollLeftPx(): number {
    return this.#scrollLeftPx;
  }

  /** Whether anything can be seen. */
  get isShown(): boolean {
    return this.#heightPx > 0;
  }

  /** The width that columns are seen in. */
  get columnsPx(): number {
    return Math.max(1, this.#widthPx - this.gutterPx);
  }

  /** The rows that are at least partly visible, `[start, end)`. */
  get rows(): { start: number; end: number } {
    return visibleRows(this.#geometry, this.#topRow);
  }

  /** Rows that a page has. */
  get pageRows(): number {
    const { viewportPx, rowHeightPx } = this.#geometry;
    return Math.max(1, Math.floor(viewportPx / rowHeightPx) - 1);
  }

  get #geometry(): ScrollGeometry {
    return {
      numRows: this.numRows,
      rowHeightPx: this.rowHeightPx,
      viewportPx: Math.max(1, this.#heightPx - this.headerHeightPx),
    };
  }

  /** Takes the scroller's size; returns it in px. */
  measure(): { widthPx: number; heightPx: number } {
    this.#heightPx = this.#scroller.clientHeight;
    this.#widthPx = this.#scroller.clientWidth;
    return { widthPx: this.#widthPx, heightPx: this.#heightPx };
  }

  /** Sizes the scrolled content for columns of this width together. */
  sizeContent(columnsPx: number): void {
    this.#content.style.height = `${spacerPx(this.#geometry) + this.headerHeightPx}px`;
    this.#content.style.width = `${this.gutterPx + columnsPx}px`;
    this.#scroller.style.setProperty("--row-height", `${this.rowHeightPx}px`);
    this.#scroller.style.setProperty("--header-height", `${this.headerHeightPx}px`);
    this.#scroller.style.setProperty("--gutter", `${this.gutterPx}px`);
  }

  /** A wheel or a finger moves the rows. */
  gesture(): void {
    this.#gestureMs = performance.now();
  }

  /** Handles a scroll event; returns whether the rows moved. */
  follow(): boolean {
    const { scrollTop, scrollLeft } = this.#scroller;
    const isGesture = performance.now() - this.#gestureMs < GESTURE_MS;
    const before = { topRow: this.#topRow, scrollTopPx: this.#scrollTopPx };
    const after = scrolledTo(this.#geometry, before, scrollTop, isGesture);
    this.#topRow = after.topRow;
    this.#scrollTopPx = after.scrollTopPx;
    this.#scrollLeftPx = Math.max(0, scrollLeft);
    return after.topRow !== before.topRow;
  }

  /** Puts a row at the upper edge, and the scrollbar where that is. */
  moveTo(topRow: number): void {
    this.#topRow = clampTopRow(this.#geometry, topRow);
    this.syncScrollbar();
  }

  /** Moves by pages; the scrollbar follows when a row is next moved to. */
  moveByPages(pages: number): void {
    this.#topRow = clampTopRow(this.#geometry, this.#topRow + pages * this.pageRows);
  }

  /** Moves as little as possible so that a row is wholly visible. */
  revealRow(row: number): void {
    this.moveTo(revealRow(this.#geometry, this.#topRow, row));
  }

  scrollLeftTo(scrollLeftPx: number): void {
    if (scrollLeftPx === this.#scrollLeftPx) return;
    this.#scroller.scrollLeft = scrollLeftPx;
    this.#scrollLeftPx = this.#scroller.scrollLeft;
  }

  /** Puts the scrollbar where the rows are. */
  syncScrollbar(): void {
    const wantedPx = scrollTopFor(this.#geometry, this.#topRow);
    // To look at the scroller makes the browser lay the page out.
    if (wantedPx === 0 && this.#scrollTopPx === 0) return;
    if (Math.abs(wantedPx - this.#scroller.scrollTop) >= 1) this.#scroller.scrollTop = wantedPx;
    // Read back, because browsers round: the event that follows must not look like a movement.
    this.#scrollTopPx = this.#scroller.scrollTop;
  }

  /** The cell at a position of the scroller; the nearest one where there is none. */
  cellAt(xPx: number, yPx: number, layout: ColumnLayout): CellPosition {
    const row = Math.floor(this.#topRow + (yPx - this.headerHeightPx) / this.rowHeightPx);
    return {
      row: Math.max(0, Math.min(row, this.numRows - 1)),
      column: layout.columnIn(xPx - this.gutterPx, this.#scrollLeftPx),
    };
  }

  /** The lower right corner of a cell in the scroller; undefined while it is out of sight. */
  cornerOf({ row, column }: CellPosition, layout: ColumnLayout) {
    const leftPx = layout.placePx(column, this.#scrollLeftPx) - this.#scrollLeftPx;
    const xPx = this.gutterPx + leftPx + layout.widthPx(column);
    const yPx = this.headerHeightPx + (row + 1 - this.#topRow) * this.rowHeightPx;
    const isInSight =
      xPx > this.gutterPx && xPx <= this.#widthPx && yPx > 0 && yPx <= this.#heightPx;
    return isInSight ? { xPx, yPx } : undefined;
  }
}
