import type { Field } from "../model/schema.js";
import { CellCache, type ReadWindow, wantedRects } from "./cache.js";
import { ColumnSet, type ShownColumns } from "./column-set.js";
import type { GridCallbacks, GridProgress } from "./contract.js";
import { setAttribute } from "./dom.js";
import { Frames } from "./frames.js";
import { GridHeader, type HeaderMark } from "./header.js";
import { HeaderInput } from "./header-input.js";
import { type CellPosition, type Extent, HEADER_ROW, moveFocus } from "./keyboard.js";
import { type CellMark, GridRows } from "./rows.js";
import { Selecting, type SelectingGrid } from "./selecting.js";
import type { Selection } from "./selection.js";
import { gutterWidthPx, headerWidthsPx, rowWidthsPx } from "./sizing.js";
import { makeSkeleton } from "./skeleton.js";
import { Viewport } from "./viewport.js";

/** Scrolling has stopped when nothing moved for this long; only then is the scrollbar corrected. */
const IDLE_MS = 150;

/**
 * A virtual grid of rows that are read in rectangles: `role="grid"`, with native scrolling, recycled
 * elements, and the keyboard of the ARIA grid pattern. It draws from its cache and never waits for
 * rows. More rows can be added at any time without moving the visible ones.
 */
export class Grid {
  /** The scroller with `role="grid"`; give it a size. */
  readonly element: HTMLElement;

  readonly #callbacks: GridCallbacks;
  readonly #layer: HTMLElement;
  readonly #viewport: Viewport;
  readonly #header = new GridHeader();
  /** The summaries below the names of columns. */
  readonly summaries = this.#header.summaries;
  readonly #headerInput: HeaderInput;
  readonly #rows = new GridRows();
  readonly #resizeObserver = new ResizeObserver(() => this.#onResize());

  #columns = new ColumnSet([], []);
  #read: ReadWindow = () => Promise.reject(new Error("No table."));
  #cache = new CellCache(this.#read, () => undefined);
  #progress: GridProgress = { numRows: 0, totalRows: undefined, isGrowing: true };
  #sizing: "none" | "running" | "done" = "none";
  #failure: unknown;
  /** A row to scroll to when it arrives. */
  #awaitedRow: number | undefined;
  #active: CellPosition = { row: 0, column: 0 };
  #headerMarks: readonly HeaderMark[] = [];
  #cellMarks: ReadonlyMap<string, CellMark> = new Map();
  readonly #selecting: Selecting;
  readonly #frames = new Frames(() => this.#draw());
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(callbacks: GridCallbacks) {
    this.#callbacks = callbacks;
    this.#headerInput = new HeaderInput(this.#header, callbacks.header);
    const { grid, content, layer } = makeSkeleton({
      header: this.#header.element,
      rows: this.#rows.body,
      numbers: this.#rows.gutter,
    });
    this.element = grid;
    this.#layer = layer;
    this.#viewport = new Viewport(grid, content);
    this.#selecting = new Selecting(this.#selectingGrid());
    this.#listen();
    this.#resizeObserver.observe(this.element);
    this.setTable([], this.#read);
  }

  /** The row at the upper edge, plus the fraction of it above the edge. */
  get topRow(): number {
    return this.#viewport.topRow;
  }

  /** Shows another table from its first row; {@link update} sets its rows. */
  setTable(fields: readonly Field[], read: ReadWindow): void {
    this.#read = read;
    this.#headerMarks = [];
    this.#sizing = "none";
    this.#active = { row: 0, column: 0 };
    this.#awaitedRow = undefined;
    this.#viewport.gutterPx = 0;
    this.#columns = new ColumnSet(fields, headerWidthsPx(this.element, fields));
    this.#showColumns();
    this.update({ numRows: 0, totalRows: undefined, isGrowing: true });
    this.#viewport.scrollLeftTo(0);
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

  /** Sets the shown columns and their widths; returns whether the shown columns, their order or the number of pinned ones changed. */
  setColumns(shown: ShownColumns): boolean {
    const areOthers = this.#columns.show(shown);
    if (areOthers) this.#showColumns();
    else this.#layOut();
    return areOthers;
  }

  #showColumns(): void {
    const { length } = this.#columns.fields;
    this.#renewCache();
    const { row, column } = this.#active;
    this.#active = { row, column: Math.max(0, Math.min(column, length - 1)) };
    this.element.setAttribute("aria-colcount", String(length));
    this.#layOut();
  }

  /** The columns that are shown, by their position in the table. */
  get columns(): readonly number[] {
    return this.#columns.columns;
  }

  /** The width of a column that is shown, in px. */
  columnWidthPx(column: number): number {
    return this.#columns.layout.widthPx(column);
  }

  /** The width at which the visible texts of a shown column fit, in px. */
  async fittedWidthPx(column: number): Promise<number | undefined> {
    const columns = this.#columns.columns.slice(column, column + 1);
    const { rows } = this.#viewport;
    return (await rowWidthsPx(this.element, this.#columns.all, columns, this.#read, rows))[0];
  }

  /** Clears all cells, because other rows or columns follow. */
  #renewCache(): void {
    this.#cache.close();
    this.#cellMarks = new Map();
    this.#selecting.forget();
    this.#rows.clear();
    this.#cache = new CellCache(
      (start, end, shown, signal) =>
        this.#read(start, end, this.#columns.positionsOf(shown), signal),
      () => this.#frames.schedule(),
    );
  }

  /** Sets the marks of the headers. */
  setMarks(marks: readonly HeaderMark[]): void {
    this.#headerMarks = marks;
    this.#header.invalidate();
    this.#frames.schedule();
  }

  /** Shows or hides column summaries; the first visible row stays. */
  showSummaries(isShown: boolean): void {
    this.#viewport.headerHeightPx = this.summaries.show(isShown);
    this.#layOut();
    this.#moveTo(this.#viewport.topRow);
    this.#scheduleIdle();
  }

  /** The header of a column, if it is mounted. */
  headerElement(column: number): HTMLElement | undefined {
    return this.#header.cellElement(column);
  }

  /** Gives the focus to a column's header. */
  focusHeader(column: number): void {
    this.#activate({ row: HEADER_ROW, column });
  }

  /** Sets the number of rows. Nothing that is visible moves. */
  update(progress: GridProgress): void {
    this.#progress = progress;
    const { numRows, totalRows, isGrowing } = progress;
    this.#viewport.numRows = numRows;
    const knownRows = isGrowing ? totalRows : numRows;
    setAttribute(this.element, "aria-rowcount", String((knownRows ?? -2) + 1));
    setAttribute(this.element, "aria-busy", String(isGrowing && numRows === 0));
    // Without a cell or header to focus, the scroller itself must be reachable by keyboard.
    this.element.tabIndex = numRows === 0 && this.#columns.fields.length === 0 ? 0 : -1;
    const gutterPx = gutterWidthPx(Math.max(numRows, totalRows ?? 0));
    this.#viewport.gutterPx = Math.max(this.#viewport.gutterPx, gutterPx);
    this.#sizeContent();
    if (numRows > 0 && this.#sizing === "none") this.#sizeByRows();
    const awaited = this.#awaitedRow;
    if (awaited !== undefined && (awaited < numRows || !isGrowing)) {
      const hasFocus = this.element.matches(":focus-within");
      this.goToRow(awaited);
      if (hasFocus) this.focus();
    }
    this.#scheduleIdle(false);
  }

  /** Sets the height of all rows, keeping the first visible one. */
  setRowHeight(rowHeightPx: number): void {
    const viewport = this.#viewport;
    if (rowHeightPx === viewport.rowHeightPx) return;
    viewport.rowHeightPx = rowHeightPx;
    this.#sizeContent();
    this.#rows.invalidate();
    this.#moveTo(viewport.topRow);
  }

  /**
   * Scrolls a row, counted from 0, to the upper edge and makes it the active one. A row that has not
   * arrived yet is scrolled to when it arrives, unless the user scrolls or moves first.
   */
  goToRow(row: number): void {
    const { numRows, isGrowing } = this.#progress;
    this.#awaitedRow = row >= numRows && isGrowing ? row : undefined;
    if (numRows === 0) return;
    const reachable = Math.max(0, Math.min(Math.trunc(row), numRows - 1));
    this.#active = { row: reachable, column: this.#active.column };
    this.#moveTo(reachable);
  }

  /** The row to scroll to that has not arrived. */
  get awaitedRow(): number | undefined {
    return this.#awaitedRow;
  }

  /** Reads failed cells again. */
  retry(): void {
    this.#cache.retry();
    this.#frames.schedule();
  }

  /** The cell with the roving tab stop. */
  get active(): CellPosition {
    return this.#active;
  }

  /** The selection, and its current rectangle of cells. */
  get selecting(): Pick<Selecting, "selection" | "rect"> {
    return this.#selecting;
  }

  /** Selects cells, or none if undefined; the cell where the selection ends becomes the active one. */
  select(selection: Selection | undefined): void {
    const { numRows } = this.#progress;
    if (selection !== undefined && numRows > 0) {
      const { row, column } = selection.head;
      const last = this.#columns.fields.length - 1;
      this.#active = { row: Math.min(row, numRows - 1), column: Math.min(column, last) };
    }
    this.#selecting.select(selection);
  }

  /** Scrolls a cell into view, makes it the active one and selects it. The focus does not move. */
  show(position: CellPosition): void {
    this.#awaitedRow = undefined;
    this.#active = position;
    this.#reveal(position);
    this.#selecting.moveTo(position, position, false);
  }

  /** Sets the marked cells, by {@link markKey}. */
  mark(marks: ReadonlyMap<string, CellMark>): void {
    this.#cellMarks = marks;
    this.#frames.schedule();
  }

  /** The element was moved in the page. */
  onMoved(): void {
    this.#viewport.restoreScroll();
  }

  /** Gives the focus to the active cell. */
  focus(): void {
    this.#frames.drawNow();
    const { row, column } = this.#tabStop;
    const header = row === HEADER_ROW ? this.#header.cellElement(column) : undefined;
    const element = header ?? this.#rows.cellElement({ row, column }) ?? this.element;
    element.focus({ preventScroll: true });
  }

  /** The cell or header that the Tab key comes to. */
  get #tabStop(): CellPosition {
    const { row, column } = this.#active;
    return { row: this.#progress.numRows === 0 ? HEADER_ROW : row, column };
  }

  get #extent(): Extent {
    const { fields } = this.#columns;
    const { pageRows } = this.#viewport;
    return { numRows: this.#progress.numRows, numColumns: fields.length, pageRows };
  }

  #listen(): void {
    const { element } = this;
    const passive = { passive: true };
    element.addEventListener("scroll", () => this.#onScroll(), passive);
    const onGesture = () => {
      this.#viewport.gesture();
      this.#awaitedRow = undefined;
    };
    element.addEventListener("wheel", onGesture, passive);
    element.addEventListener("touchmove", onGesture, passive);
    element.addEventListener("keydown", (event) => this.#onKey(event));
    element.addEventListener("mousedown", ({ target, button, ctrlKey, metaKey }) => {
      const position = this.#header.positionOf(target);
      // With a modifier the column is selected, and the focus stays on the cells.
      if (position !== undefined && button === 0 && !ctrlKey && !metaKey) this.#activate(position);
    });
    element.addEventListener("dblclick", ({ target }) => {
      const position = this.#rows.positionOf(target);
      if (position !== undefined) this.#callbacks.onOpen(position);
    });
    for (const type of ["contextmenu", "pointerdown"]) {
      element.addEventListener(type, (event) => {
        const position = this.#rows.positionOf(event.target);
        if (position !== undefined) this.#callbacks.onMenu(position, event);
        // The layer covers the scroller, so a press on the scroller itself is on a scrollbar.
        else if (event.target === element) void this.#showRowWhileDragging(this.topRow);
      });
    }
    element.addEventListener("focusin", (event) => {
      const position = this.#header.positionOf(event.target) ?? this.#rows.positionOf(event.target);
      if (position?.row === HEADER_ROW) this.#active = position;
      if (position !== undefined) this.#reveal(position);
    });
  }

  async #showRowWhileDragging(pressedRow: number): Promise<void> {
    const tip = await import("./thumb-tip.js").catch(() => undefined);
    tip?.showRowWhileDragging(this.element, this.#layer, this.#viewport, pressedRow);
  }

  #selectingGrid(): SelectingGrid {
    const grid = this;
    return {
      element: this.element,
      layer: this.#layer,
      get extent() {
        return grid.#extent;
      },
      cellAt: (clientX, clientY) => {
        const { left, top } = this.#layer.getBoundingClientRect();
        return this.#viewport.cellAt(clientX - left, clientY - top, this.#columns.layout);
      },
      activate: (position) => this.#activate(position),
      cornerOf: (position) => this.#viewport.cornerOf(position, this.#columns.layout),
      focus: () => this.focus(),
      redraw: () => this.#frames.schedule(),
      onSelect: () => this.#callbacks.onSelect(),
    };
  }

  #activate(position: CellPosition): void {
    this.#active = position;
    this.#reveal(position);
    this.focus();
  }

  #onKey(event: KeyboardEvent): void {
    const { row, column } = this.#tabStop;
    const isInHeader = row === HEADER_ROW;
    if (isInHeader && this.#headerInput.onKey(event, column)) return;
    if (this.#columns.fields.length === 0) return;
    if (
      this.#progress.numRows > 0 &&
      this.#onCellKey(event, { row: isInHeader ? 0 : row, column })
    ) {
      event.preventDefault();
      return;
    }
    const to = moveFocus(event, this.#tabStop, this.#extent);
    if (to === undefined) return;
    event.preventDefault();
    this.#awaitedRow = undefined;
    if (event.key.startsWith("Page")) {
      this.#viewport.moveByPages(event.key === "PageDown" ? 1 : -1);
    }
    if (to.row !== HEADER_ROW && this.#tabStop.row !== HEADER_ROW) {
      this.#selecting.moveTo(to, this.#active, event.shiftKey);
    }
    this.#activate(to);
  }

  /** Handles a key at a cell; false if it only moves the focus or has no meaning. */
  #onCellKey(event: KeyboardEvent, position: CellPosition): boolean {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (isCommand && event.key.toLowerCase() === "c") this.#callbacks.onCopy();
    else if (event.key === "Enter" || event.key === "F2") this.#callbacks.onOpen(position);
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      this.#callbacks.onMenu(position, event);
    } else return this.#selecting.onKey(event, position);
    return true;
  }

  #onScroll(): void {
    if (this.#viewport.follow()) this.#awaitedRow = undefined;
    this.#scheduleIdle();
  }

  #onResize(): void {
    const size = this.#viewport.measure();
    if (size === undefined) return;
    this.#layer.style.width = `${size.widthPx}px`;
    this.#layer.style.height = `${size.heightPx}px`;
    this.#layOut();
    this.#moveTo(this.topRow);
    this.#viewport.restoreScroll();
  }

  #reveal({ row, column }: CellPosition): void {
    const viewport = this.#viewport;
    const { layout } = this.#columns;
    viewport.scrollLeftTo(layout.reveal(column, viewport.scrollLeftPx, viewport.columnsPx));
    if (row !== HEADER_ROW) viewport.revealRow(row);
    this.#frames.schedule();
  }

  #moveTo(topRow: number): void {
    this.#viewport.moveTo(topRow);
    this.#frames.schedule();
  }

  /** Draws, and corrects the scrollbar and the order of elements once scrolling stops. */
  #scheduleIdle(isMoved = true): void {
    this.#frames.schedule();
    // Only movement delays it, because rows may arrive all the time.
    if (isMoved) clearTimeout(this.#idleTimer);
    else if (this.#idleTimer !== undefined) return;
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = undefined;
      this.#viewport.syncScrollbar();
      this.#rows.sortForReaders();
      this.#header.sortForReaders();
      this.#callbacks.onRest();
    }, IDLE_MS);
  }

  #draw(): void {
    // If the grid has just been shown, so that this frame has its rows.
    if (!this.#viewport.isShown) this.#onResize();
    const { topRow, scrollLeftPx, rowHeightPx, columnsPx, rows } = this.#viewport;
    const { layout, fields, alignments } = this.#columns;
    const columns = layout.visible(scrollLeftPx, columnsPx);
    const tabStop = this.#tabStop;
    this.#header.draw({
      columns,
      scrollLeftPx,
      layout,
      fields,
      alignments,
      marks: this.#headerMarks,
      active: tabStop.row === HEADER_ROW ? tabStop.column : undefined,
    });
    if (!this.#viewport.isShown) return;
    // Until columns have their widths, cells are only requested.
    if (this.#sizing === "done") {
      this.#rows.draw({
        rows,
        columns,
        topRow,
        scrollLeftPx,
        rowHeightPx,
        layout,
        alignments,
        cache: this.#cache,
        active: tabStop,
        selected: this.#selecting.rect,
        marks: this.#cellMarks,
      });
      this.#selecting.draw();
    }
    this.#wantCells();
    const { failure } = this.#cache;
    if (failure === this.#failure) return;
    this.#failure = failure;
    this.#callbacks.onFailure(failure);
  }

  #wantCells(): void {
    const { scrollLeftPx, columnsPx, rows } = this.#viewport;
    const { layout, fields } = this.#columns;
    const columns = layout.visible(scrollLeftPx, columnsPx);
    const { numRows } = this.#progress;
    this.#cache.want(wantedRects(rows, columns, numRows, layout.numPinned), numRows, fields.length);
  }

  #sizeContent(): void {
    this.#viewport.sizeContent(this.#columns.layout.totalPx);
  }

  /** Fits columns to their first rows, once: later rows must not move what is visible. */
  async #sizeByRows(): Promise<void> {
    this.#sizing = "running";
    this.#frames.hold();
    const read = this.#read;
    const { all } = this.#columns;
    const rows = { start: 0, end: this.#progress.numRows };
    // Requested now, so that cells are there when the columns have their widths.
    if (this.#viewport.isShown) this.#wantCells();
    try {
      const widths = await rowWidthsPx(this.element, all, [...all.keys()], read, rows);
      if (read !== this.#read) return;
      this.#columns.setWidths(widths);
      this.#layOut();
    } catch {
      // The table is gone and reports that itself. Widths by header are good enough.
      if (read !== this.#read) return;
    }
    this.#sizing = "done";
    this.#frames.release();
  }

  /** Positions the shown columns by their widths. */
  #layOut(): void {
    this.#columns.setViewport(this.#viewport.columnsPx);
    this.#header.invalidate();
    this.#rows.invalidate();
    this.#sizeContent();
    this.#scheduleIdle();
  }
}
