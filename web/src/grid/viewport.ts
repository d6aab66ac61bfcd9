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

/** The visible area: its size and position. {@link topRow} alone defines the vertical position. */
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

  /** The row at the upper edge, plus the fraction of it above the edge. */
  get topRow(): number {
    return this.#topRow;
  }

  get scrollLeftPx(): number {
    return this.#scrollLeftPx;
  }

  /** Whether the grid has a visible height. */
  get isShown(): boolean {
    return this.#heightPx > 0;
  }

  /** The width of the area for columns. */
  get columnsPx(): number {
    return Math.max(1, this.#widthPx - this.gutterPx);
  }

  /** The rows that are at least partly visible, `[start, end)`. */
  get rows(): { start: number; end: number } {
    return visibleRows(this.#geometry, this.#topRow);
  }

  /** The rows that Page Up and Page Down move by. */
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

  /** Measures the scroller; returns its size in px if it has changed. */
  measure(): { widthPx: number; heightPx: number } | undefined {
    const { clientWidth: widthPx, clientHeight: heightPx } = this.#scroller;
    if (widthPx === this.#widthPx && heightPx === this.#heightPx) return undefined;
    this.#widthPx = widthPx;
    this.#heightPx = heightPx;
    return { widthPx, heightPx };
  }

  /** Sizes the scrolled content for columns of this total width. */
  sizeContent(columnsPx: number): void {
    this.#content.style.height = `${spacerPx(this.#geometry) + this.headerHeightPx}px`;
    this.#content.style.width = `${this.gutterPx + columnsPx}px`;
    this.#scroller.style.setProperty("--row-height", `${this.rowHeightPx}px`);
    this.#scroller.style.setProperty("--header-height", `${this.headerHeightPx}px`);
    this.#scroller.style.setProperty("--gutter", `${this.gutterPx}px`);
  }

  /** Call it when a wheel or a finger moves the rows. */
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

  /** Moves a row to the upper edge, and the scrollbar with it. */
  moveTo(topRow: number): void {
    this.#topRow = clampTopRow(this.#geometry, topRow);
    this.syncScrollbar();
  }

  /** Moves by pages. The scrollbar follows with the next {@link moveTo}. */
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

  /** Moves the scrollbar to the position of the rows. */
  syncScrollbar(): void {
    const wantedPx = scrollTopFor(this.#geometry, this.#topRow);
    // Skipped at the top, because reading the scroller's position forces a layout.
    if (wantedPx === 0 && this.#scrollTopPx === 0) return;
    if (Math.abs(wantedPx - this.#scroller.scrollTop) >= 1) this.#scroller.scrollTop = wantedPx;
    // Read back, because browsers round it: the event that follows must not count as a movement.
    this.#scrollTopPx = this.#scroller.scrollTop;
  }

  /** Restores the position of the scrollbars, which an element loses that is moved in the page. */
  restoreScroll(): void {
    this.#scroller.scrollLeft = this.#scrollLeftPx;
    this.syncScrollbar();
  }

  /** The cell at a position of the scroller; the nearest one if there is none. */
  cellAt(xPx: number, yPx: number, layout: ColumnLayout): CellPosition {
    const row = Math.floor(this.#topRow + (yPx - this.headerHeightPx) / this.rowHeightPx);
    return {
      row: Math.max(0, Math.min(row, this.numRows - 1)),
      column: layout.columnIn(xPx - this.gutterPx, this.#scrollLeftPx),
    };
  }

  /** The lower right corner of a cell in the scroller; undefined if it is not visible. */
  cornerOf({ row, column }: CellPosition, layout: ColumnLayout) {
    const leftPx = layout.placePx(column, this.#scrollLeftPx) - this.#scrollLeftPx;
    const xPx = this.gutterPx + leftPx + layout.widthPx(column);
    const yPx = this.headerHeightPx + (row + 1 - this.#topRow) * this.rowHeightPx;
    const isInSight =
      xPx > this.gutterPx && xPx <= this.#widthPx && yPx > 0 && yPx <= this.#heightPx;
    return isInSight ? { xPx, yPx } : undefined;
  }
}
