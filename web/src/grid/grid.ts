import type { Field } from "../schema.js";
import { CellCache, type ReadWindow } from "./cache.js";
import { ColumnSet, type ShownColumns } from "./column-set.js";
import type { GridCallbacks, GridProgress } from "./contract.js";
import { makeElement, setAttribute } from "./dom.js";
import { GridHeader, type HeaderMark } from "./header.js";
import { HeaderInput } from "./header-input.js";
import { type CellPosition, HEADER_ROW, moveFocus } from "./keyboard.js";
import { GridRows } from "./rows.js";
import {
  clampTopRow,
  revealRow,
  type ScrollGeometry,
  scrolledTo,
  scrollTopFor,
  spacerPx,
  visibleRows,
} from "./scroll.js";
import { headerWidthsPx, rowWidthsPx } from "./sizing.js";
import type { HeaderSummaries } from "./summaries.js";

/** Scrolling rests when nothing moved for this long; only then is the scrollbar corrected. */
const IDLE_MS = 150;
/** A scroll event this soon after a wheel or touch event was caused by it. */
const GESTURE_MS = 200;
/** The height of names and types, in px. */
const HEADER_PX = 46;
/** How far around the viewport cells are read ahead, in viewports. */
const READ_AHEAD = 2;

/**
 * A grid over rows that are read in rectangles: `role="grid"`, with native scrolling, recycled
 * elements, and the keyboard of the ARIA grid pattern. It draws what is in its cache and never
 * waits; it can be given more rows at any time without anything moving.
 */
export class Grid {
  /** The scroller with `role="grid"`; give it a size. */
  readonly element: HTMLElement;

  readonly #callbacks: GridCallbacks;
  readonly #content = makeElement("content");
  readonly #layer = makeElement("layer");
  readonly #header = new GridHeader();
  readonly #headerInput: HeaderInput;
  readonly #rows = new GridRows();
  readonly #resizeObserver = new ResizeObserver(() => this.#onResize());

  #columns = new ColumnSet([], []);
  #read: ReadWindow = () => Promise.reject(new Error("No table."));
  #cache = new CellCache(this.#read, () => undefined);
  #progress: GridProgress = { numRows: 0, totalRows: undefined, isGrowing: true };
  #sizing: "none" | "running" | "done" = "none";
  #rowHeightPx = 30;
  #headerHeightPx = HEADER_PX;
  #gutterPx = 0;
  #heightPx = 0;
  #widthPx = 0;

  #topRow = 0;
  #scrollTopPx = 0;
  #scrollLeftPx = 0;
  #gestureMs = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  /** A row that was asked for before it arrived. */
  #awaitedRow: number | undefined;
  #active: CellPosition = { row: 0, column: 0 };
  #marks: readonly HeaderMark[] = [];
  #frame = 0;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(callbacks: GridCallbacks) {
    this.#callbacks = callbacks;
    this.#headerInput = new HeaderInput(this.#header, callbacks.header);
    this.element = makeElement("grid");
    this.element.setAttribute("role", "grid");
    this.element.setAttribute("part", "grid");
    this.element.setAttribute("aria-label", "Rows");
    this.element.setAttribute("aria-readonly", "true");
    const corner = makeElement("corner");
    const gutter = makeElement("gutter");
    corner.setAttribute("aria-hidden", "true");
    gutter.setAttribute("aria-hidden", "true");
    gutter.append(this.#rows.gutter);
    const body = makeElement("body");
    body.append(this.#rows.body);
    this.#layer.append(this.#header.element, body, corner, gutter, this.summaries.readout);
    this.#content.append(this.#layer);
    this.element.append(this.#content);
    this.#listen();
    this.#resizeObserver.observe(this.element);
    this.setTable([], this.#read);
  }

  /** The row at the upper edge, and the fraction of it above the edge. */
  get topRow(): number {
    return this.#topRow;
  }

  /** Shows another table from its first row; {@link update} tells its rows. */
  setTable(fields: readonly Field[], read: ReadWindow): void {
    this.#cache.close();
    this.#read = read;
    this.#marks = [];
    this.#sizing = "none";
    this.#active = { row: 0, column: 0 };
    this.#awaitedRow = undefined;
    this.#gutterPx = 0;
    this.#rows.clear();
    this.#columns = new ColumnSet(fields, headerWidthsPx(this.element, fields));
    this.#showColumns();
    this.update({ numRows: 0, totalRows: undefined, isGrowing: true });
    this.#scrollLeftPx = 0;
    this.element.scrollLeft = 0;
    this.#moveTo(0);
  }

  /** Shows other rows of the same columns from the first one, e.g. in another order. */
  setRows(read: ReadWindow): void {
    const hasFocus = this.#rows.body.matches(":focus-within");
    this.#read = read;
    this.#renewCache();
    if (this.#sizing === "running") this.#sizing = "none";
    if (this.#active.row > 0) this.#active = { row: 0, column: this.#active.column };
    this.#awaitedRow = undefined;
    this.#moveTo(0);
    if (hasFocus) this.focus();
  }

  /** Shows some of the columns, in an order and by widths of their own. */
  setColumns(shown: ShownColumns): void {
    if (this.#columns.show(shown)) this.#showColumns();
    else this.#layOut();
  }

  #showColumns(): void {
    const { length } = this.#columns.fields;
    this.#renewCache();
    const { row, column } = this.#active;
    this.#active = { row, column: Math.max(0, Math.min(column, length - 1)) };
    this.element.setAttribute("aria-colcount", String(length));
    this.#layOut();
  }

  /** The columns that are shown, by their place in the table. */
  get columns(): readonly number[] {
    return this.#columns.columns;
  }

  /** The width of a column that is shown, in px. */
  columnWidthPx(column: number): number {
    return this.#columns.layout.widthPx(column);
  }

  /** The width that the texts in sight want for a column that is shown, in px. */
  async fittedWidthPx(column: number): Promise<number | undefined> {
    const columns = this.#columns.columns.slice(column, column + 1);
    const rows = visibleRows(this.#geometry, this.#topRow);
    return (await rowWidthsPx(this.element, this.#columns.all, columns, this.#read, rows))[0];
  }

  /** Forgets all cells: other rows or columns follow. */
  #renewCache(): void {
    this.#cache.close();
    this.#cache = new CellCache(
      (start, end, shown, signal) => this.#read(start, end, this.#columns.placesOf(shown), signal),
      () => this.#schedule(),
    );
    this.#rows.clear();
  }

  /** Sets what headers say of their columns. */
  setMarks(marks: readonly HeaderMark[]): void {
    this.#marks = marks;
    this.#header.invalidate();
    this.#schedule();
  }

  /** What is shown of columns below their names. */
  get summaries(): HeaderSummaries {
    return this.#header.summaries;
  }

  /** Shows them, or not; the first visible row stays. */
  showSummaries(isShown: boolean): void {
    this.#headerHeightPx = HEADER_PX + this.summaries.show(isShown);
    this.element.classList.toggle("summaries", isShown);
    this.#layOut();
    this.#moveTo(this.#topRow);
  }

  /** The header of a column, if it is in sight. */
  headerElement(column: number): HTMLElement | undefined {
    return this.#header.cellElement(column);
  }

  /** Gives the focus to a column's header. */
  focusHeader(column: number): void {
    this.#active = { row: HEADER_ROW, column };
    this.#reveal(this.#active);
    this.focus();
  }

  /** Tells how many rows there are now. Nothing that is visible moves. */
  update(progress: GridProgress): void {
    this.#progress = progress;
    const { numRows, totalRows, isGrowing } = progress;
    const knownRows = isGrowing ? totalRows : numRows;
    setAttribute(
      this.element,
      "aria-rowcount",
      String(knownRows === undefined ? -1 : knownRows + 1),
    );
    setAttribute(this.element, "aria-busy", String(isGrowing && numRows === 0));
    // Without a cell or header to focus, the scroller itself must be reachable by keyboard.
    this.element.tabIndex = numRows === 0 && this.#columns.fields.length === 0 ? 0 : -1;
    this.#sizeGutter(Math.max(numRows, totalRows ?? 0));
    this.#sizeContent();
    if (numRows > 0 && this.#sizing === "none") this.#sizeByRows();
    const awaited = this.#awaitedRow;
    if (awaited !== undefined && (awaited < numRows || !isGrowing)) {
      const hasFocus = this.element.matches(":focus-within");
      this.goToRow(awaited);
      if (hasFocus) this.focus();
    }
    this.#schedule();
    this.#scheduleIdle();
  }

  /** Sets the height of all rows, keeping the first visible one. */
  setRowHeight(rowHeightPx: number): void {
    if (rowHeightPx === this.#rowHeightPx) return;
    this.#rowHeightPx = rowHeightPx;
    this.#sizeContent();
    this.#rows.invalidate();
    this.#moveTo(this.#topRow);
  }

  /**
   * Brings a row, counted from 0, to the upper edge and makes it the active one. A row that has
   * not arrived yet is gone to when it does, unless the user moves meanwhile.
   */
  goToRow(row: number): void {
    const { numRows, isGrowing } = this.#progress;
    this.#awaitedRow = row >= numRows && isGrowing ? row : undefined;
    if (numRows === 0) return;
    const reachable = Math.max(0, Math.min(Math.trunc(row), numRows - 1));
    this.#active = { row: reachable, column: this.#active.column };
    this.#moveTo(reachable);
  }

  /** A row that was asked for and has not arrived. */
  get awaitedRow(): number | undefined {
    return this.#awaitedRow;
  }

  /** Asks again for cells that could not be read. */
  retry(): void {
    this.#cache.retry();
    this.#schedule();
  }

  /** Gives the focus to the active cell. */
  focus(): void {
    this.#draw();
    const { row, column } = this.#tabStop;
    const element =
      row === HEADER_ROW
        ? this.#header.cellElement(column)
        : this.#rows.cellElement({ row, column });
    (element ?? this.element).focus({ preventScroll: true });
  }

  get #geometry(): ScrollGeometry {
    return {
      numRows: this.#progress.numRows,
      rowHeightPx: this.#rowHeightPx,
      viewportPx: Math.max(1, this.#heightPx - this.#headerHeightPx),
    };
  }

  /** The cell or header that the Tab key comes to. */
  get #tabStop(): CellPosition {
    const { row, column } = this.#active;
    return { row: this.#progress.numRows === 0 ? HEADER_ROW : row, column };
  }

  get #columnsPx(): number {
    return Math.max(1, this.#widthPx - this.#gutterPx);
  }

  #listen(): void {
    const { element } = this;
    const passive = { passive: true };
    element.addEventListener("scroll", () => this.#onScroll(), passive);
    for (const type of ["wheel", "touchmove"] as const) {
      element.addEventListener(
        type,
        () => {
          this.#gestureMs = performance.now();
          this.#awaitedRow = undefined;
        },
        passive,
      );
    }
    element.addEventListener("keydown", (event) => this.#onKey(event));
    element.addEventListener("mousedown", (event) => {
      const position = this.#positionOf(event.target);
      if (position === undefined || event.button !== 0) return;
      // The browser would scroll the cell into view by its own idea of where it is.
      event.preventDefault();
      this.#active = position;
      this.#reveal(position);
      this.focus();
    });
    element.addEventListener("focusin", (event) => {
      const position = this.#positionOf(event.target);
      if (position?.row === HEADER_ROW) this.#active = position;
      if (position !== undefined) this.#reveal(position);
    });
    element.addEventListener("mouseover", ({ target }) => {
      if (!(target instanceof HTMLElement) || !target.classList.contains("cell")) return;
      const isCut = target.scrollWidth > target.clientWidth || target.classList.contains("lines");
      target.title = isCut ? (target.textContent ?? "") : "";
    });
  }

  #positionOf(target: EventTarget | null): CellPosition | undefined {
    return this.#header.positionOf(target) ?? this.#rows.positionOf(target);
  }

  #onKey(event: KeyboardEvent): void {
    if (this.#tabStop.row === HEADER_ROW && this.#headerInput.onKey(event, this.#active.column)) {
      return;
    }
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && event.key.toLowerCase() === "c" && !event.shiftKey && !event.altKey) {
      if (this.#tabStop.row === HEADER_ROW) return;
      event.preventDefault();
      this.#callbacks.onCopy(this.#active);
      return;
    }
    const { numRows } = this.#progress;
    if (this.#columns.fields.length === 0) return;
    const geometry = this.#geometry;
    const pageRows = Math.max(1, Math.floor(geometry.viewportPx / geometry.rowHeightPx) - 1);
    const extent = { numRows, numColumns: this.#columns.fields.length, pageRows };
    const to = moveFocus(event, this.#tabStop, extent);
    if (to === undefined) return;
    event.preventDefault();
    this.#awaitedRow = undefined;
    if (event.key.startsWith("Page")) {
      const direction = event.key === "PageDown" ? 1 : -1;
      this.#topRow = clampTopRow(geometry, this.#topRow + direction * pageRows);
    }
    this.#active = to;
    this.#reveal(to);
    this.focus();
  }

  #onScroll(): void {
    const { scrollTop, scrollLeft } = this.element;
    const isGesture = performance.now() - this.#gestureMs < GESTURE_MS;
    const position = { topRow: this.#topRow, scrollTopPx: this.#scrollTopPx };
    const moved = scrolledTo(this.#geometry, position, scrollTop, isGesture);
    if (moved.topRow !== this.#topRow) this.#awaitedRow = undefined;
    this.#topRow = moved.topRow;
    this.#scrollTopPx = moved.scrollTopPx;
    this.#scrollLeftPx = Math.max(0, scrollLeft);
    this.#schedule();
    this.#scheduleIdle();
  }

  #onResize(): void {
    this.#heightPx = this.element.clientHeight;
    this.#widthPx = this.element.clientWidth;
    this.#layer.style.width = `${this.#widthPx}px`;
    this.#layer.style.height = `${this.#heightPx}px`;
    this.#moveTo(this.#topRow);
  }

  #reveal({ row, column }: CellPosition): void {
    const { element } = this;
    const left = this.#columns.layout.reveal(column, this.#scrollLeftPx, this.#columnsPx);
    if (left !== this.#scrollLeftPx) {
      element.scrollLeft = left;
      this.#scrollLeftPx = element.scrollLeft;
    }
    if (row !== HEADER_ROW) this.#moveTo(revealRow(this.#geometry, this.#topRow, row));
    else this.#schedule();
  }

  /** Puts a row at the upper edge, and the scrollbar where that is. */
  #moveTo(topRow: number): void {
    this.#topRow = clampTopRow(this.#geometry, topRow);
    this.#syncScrollbar();
    this.#schedule();
  }

  #syncScrollbar(): void {
    const wantedPx = scrollTopFor(this.#geometry, this.#topRow);
    if (Math.abs(wantedPx - this.element.scrollTop) >= 1) this.element.scrollTop = wantedPx;
    // Read back, because browsers round: the event that follows must not look like a movement.
    this.#scrollTopPx = this.element.scrollTop;
  }

  #scheduleIdle(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      this.#syncScrollbar();
      this.#rows.sortForReaders();
      this.#header.sortForReaders();
      this.#callbacks.onRest();
    }, IDLE_MS);
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const geometry = this.#geometry;
    const layout = this.#columns.layout;
    const columns = layout.visible(this.#scrollLeftPx, this.#columnsPx);
    const tabStop = this.#tabStop;
    this.#header.draw({
      columns,
      scrollLeftPx: this.#scrollLeftPx,
      layout,
      fields: this.#columns.fields,
      alignments: this.#columns.alignments,
      marks: this.#marks,
      active: tabStop.row === HEADER_ROW ? tabStop.column : undefined,
    });
    if (this.#heightPx === 0) return;
    const rows = visibleRows(geometry, this.#topRow);
    // Until columns have their widths, cells are only asked for.
    if (this.#sizing === "done") {
      this.#rows.draw({
        rows,
        columns,
        topRow: this.#topRow,
        scrollLeftPx: this.#scrollLeftPx,
        rowHeightPx: this.#rowHeightPx,
        layout,
        alignments: this.#columns.alignments,
        cache: this.#cache,
        active: tabStop,
      });
    }
    const visible = {
      rowStart: rows.start,
      rowEnd: rows.end,
      columnStart: columns.start,
      columnEnd: columns.end,
    };
    const aheadRows = READ_AHEAD * (rows.end - rows.start);
    const around = {
      ...visible,
      rowStart: Math.max(0, rows.start - aheadRows),
      rowEnd: Math.min(geometry.numRows, rows.end + aheadRows),
    };
    const pinned = { ...around, columnStart: 0, columnEnd: layout.numPinned };
    this.#cache.want([visible, pinned, around], geometry.numRows, this.#columns.fields.length);
    const { failure } = this.#cache;
    if (failure === this.#failure) return;
    this.#failure = failure;
    this.#callbacks.onFailure(failure);
  }

  #sizeGutter(numRows: number): void {
    // Room for more digits than there are at first, so that streaming rarely widens it.
    const digits = Math.max(4, String(numRows).length);
    const gutterPx = Math.ceil(digits * 7.6 + Math.floor((digits - 1) / 3) * 4 + 22);
    if (gutterPx <= this.#gutterPx) return;
    this.#gutterPx = gutterPx;
    this.element.style.setProperty("--gutter", `${gutterPx}px`);
  }

  #sizeContent(): void {
    const heightPx = spacerPx(this.#geometry) + this.#headerHeightPx;
    this.#content.style.height = `${heightPx}px`;
    this.#content.style.width = `${this.#gutterPx + this.#columns.layout.totalPx}px`;
    this.element.style.setProperty("--row-height", `${this.#rowHeightPx}px`);
    this.element.style.setProperty("--header-height", `${this.#headerHeightPx}px`);
  }

  /** Widens columns to their first rows, once: later rows must not move what is looked at. */
  async #sizeByRows(): Promise<void> {
    this.#sizing = "running";
    const read = this.#read;
    const { all } = this.#columns;
    const columns = all.map((_, column) => column);
    const rows = { start: 0, end: this.#progress.numRows };
    try {
      const widths = await rowWidthsPx(this.element, all, columns, read, rows);
      if (read !== this.#read) return;
      this.#columns.setWidths(widths);
      this.#layOut();
    } catch {
      // The table is gone, which its own events say; widths by header are good enough.
      if (read !== this.#read) return;
    }
    this.#sizing = "done";
    this.#schedule();
  }

  /** Places the columns that are shown by their widths. */
  #layOut(): void {
    this.#header.invalidate();
    this.#rows.invalidate();
    this.#sizeContent();
    this.#schedule();
  }
}
