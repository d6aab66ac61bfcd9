import type { Field } from "../schema.js";
import { CellCache, type ReadWindow } from "./cache.js";
import { type Alignment, alignmentOf, ColumnLayout } from "./columns.js";
import { makeElement, setAttribute } from "./elements.js";
import { GridHeader } from "./header.js";
import { type CellPosition, moveFocus } from "./keyboard.js";
import type { GridCallbacks, GridProgress } from "./owner.js";
import { GridRows, type Mark } from "./rows.js";
import {
  clampTopRow,
  revealRow,
  type ScrollGeometry,
  scrolledTo,
  scrollTopFor,
  spacerPx,
  visibleRows,
} from "./scroll.js";
import { Selecting } from "./selecting.js";
import type { Selection } from "./selection.js";
import { cellWidths, gutterWidthPx, headerWidths } from "./widths.js";

/** Scrolling rests when nothing moved for this long; only then is the scrollbar corrected. */
const IDLE_MS = 150;
/** A scroll event this soon after a wheel or touch event was caused by it. */
const GESTURE_MS = 200;
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
  readonly #rows = new GridRows();
  readonly #resizeObserver = new ResizeObserver(() => this.#onResize());

  #fields: readonly Field[] = [];
  #alignments: readonly Alignment[] = [];
  #layout = new ColumnLayout([]);
  #read: ReadWindow = () => Promise.reject(new Error("No table."));
  #cache = new CellCache(this.#read, () => undefined);
  #progress: GridProgress = { numRows: 0, totalRows: undefined, isGrowing: true };
  #sizing: "none" | "running" | "done" = "none";

  #rowHeightPx = 30;
  #headerHeightPx = 46;
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
  #mustPlaceHeader = true;
  #marks: ReadonlyMap<string, Mark> = new Map();
  readonly #selecting: Selecting;
  #frame = 0;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(callbacks: GridCallbacks) {
    this.#callbacks = callbacks;
    this.element = makeElement("grid");
    this.element.setAttribute("role", "grid");
    this.element.setAttribute("part", "grid");
    this.element.setAttribute("aria-label", "Rows");
    this.element.setAttribute("aria-readonly", "true");
    this.element.setAttribute("aria-multiselectable", "true");
    const corner = makeElement("corner");
    const gutter = makeElement("gutter");
    corner.setAttribute("aria-hidden", "true");
    gutter.setAttribute("aria-hidden", "true");
    gutter.append(this.#rows.gutter);
    const body = makeElement("body");
    body.append(this.#rows.body);
    this.#layer.append(this.#header.element, body, corner, gutter);
    this.#content.append(this.#layer);
    this.element.append(this.#content);
    this.#selecting = this.#makeSelecting();
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
    this.#cache = new CellCache(read, () => this.#schedule());
    this.#fields = fields;
    this.#alignments = fields.map(alignmentOf);
    this.#sizing = "none";
    this.#active = { row: 0, column: 0 };
    this.#awaitedRow = undefined;
    this.#gutterPx = 0;
    this.#marks = new Map();
    this.#selecting.select(undefined);
    this.#rows.clear();
    this.element.setAttribute("aria-colcount", String(fields.length));
    this.#sizeByHeader();
    this.update({ numRows: 0, totalRows: undefined, isGrowing: true });
    this.#scrollLeftPx = 0;
    this.element.scrollLeft = 0;
    this.#moveTo(0);
  }

  /** Tells how many rows there are now. Nothing that is visible moves. */
  update(progress: GridProgress): void {
    this.#progress = progress;
    const { numRows, totalRows, isGrowing } = progress;
    const knownRows = isGrowing ? totalRows : numRows;
    setAttribute(this.element, "aria-rowcount", String((knownRows ?? -2) + 1));
    setAttribute(this.element, "aria-busy", String(isGrowing && numRows === 0));
    // Without a cell to focus, the scroller itself must be reachable by keyboard.
    this.element.tabIndex = numRows === 0 ? 0 : -1;
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

  /** The cell with the roving tab stop. */
  get active(): CellPosition {
    return this.#active;
  }

  /** The selected cells, and the rectangle they are now. */
  get selecting(): Pick<Selecting, "selection" | "rect"> {
    return this.#selecting;
  }

  /** Selects cells, or with undefined none; the one they end at becomes the active one. */
  select(selection: Selection | undefined): void {
    const { numRows } = this.#progress;
    if (selection !== undefined && numRows > 0) {
      const { row, column } = selection.head;
      const last = this.#fields.length - 1;
      this.#active = { row: Math.min(row, numRows - 1), column: Math.min(column, last) };
    }
    this.#selecting.select(selection);
  }

  /** Brings a cell into sight, makes it the active one and selects it; the focus stays. */
  show(position: CellPosition): void {
    this.#awaitedRow = undefined;
    this.#active = position;
    this.#reveal(position);
    this.#selecting.moveTo(position, position, false);
  }

  /** Marks cells, by {@link markKey}, instead of those that were. */
  mark(marks: ReadonlyMap<string, Mark>): void {
    this.#marks = marks;
    this.#schedule();
  }

  /** Gives the focus to the active cell. */
  focus(): void {
    this.#draw();
    (this.#rows.cellElement(this.#active) ?? this.element).focus({ preventScroll: true });
  }

  /** Releases observers, timers and requests. */
  destroy(): void {
    this.#resizeObserver.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#idleTimer);
    this.#selecting.destroy();
    this.#cache.close();
  }

  get #geometry(): ScrollGeometry {
    return {
      numRows: this.#progress.numRows,
      rowHeightPx: this.#rowHeightPx,
      viewportPx: Math.max(1, this.#heightPx - this.#headerHeightPx),
    };
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
    element.addEventListener("dblclick", ({ target }) => {
      const position = this.#rows.positionOf(target);
      if (position !== undefined) this.#callbacks.onOpen(position);
    });
    element.addEventListener("focusin", (event) => {
      const position = this.#rows.positionOf(event.target);
      if (position !== undefined) this.#reveal(position);
    });
    element.addEventListener("mouseover", ({ target }) => {
      if (!(target instanceof HTMLElement) || !target.classList.contains("cell")) return;
      const isCut = target.scrollWidth > target.clientWidth || target.classList.contains("lines");
      target.title = isCut ? (target.textContent ?? "") : "";
    });
  }

  #makeSelecting(): Selecting {
    const grid = this;
    return new Selecting({
      element: this.element,
      layer: this.#layer,
      get numRows() {
        return grid.#progress.numRows;
      },
      get numColumns() {
        return grid.#fields.length;
      },
      cellAt: (clientX, clientY) => this.#cellAt(clientX, clientY),
      activate: (position) => {
        this.#active = position;
        this.#reveal(position);
        this.focus();
      },
      cornerOf: ({ row, column }) => {
        const xPx = this.#gutterPx + this.#layout.leftPx(column + 1) - this.#scrollLeftPx;
        const yPx = this.#headerHeightPx + (row + 1 - this.#topRow) * this.#rowHeightPx;
        const isInSight =
          xPx > this.#gutterPx && xPx <= this.#widthPx && yPx > 0 && yPx <= this.#heightPx;
        return isInSight ? { xPx, yPx } : undefined;
      },
      redraw: () => this.#schedule(),
      onSelect: () => this.#callbacks.onSelect(),
    });
  }

  #cellAt(clientX: number, clientY: number): CellPosition {
    const { left, top } = this.#layer.getBoundingClientRect();
    const y = clientY - top - this.#headerHeightPx;
    const x = clientX - left - this.#gutterPx + this.#scrollLeftPx;
    const row = Math.floor(this.#topRow + y / this.#rowHeightPx);
    return {
      row: Math.max(0, Math.min(row, this.#progress.numRows - 1)),
      column: this.#layout.columnAt(x),
    };
  }

  #onKey(event: KeyboardEvent): void {
    const isCommand = event.ctrlKey || event.metaKey;
    const { numRows } = this.#progress;
    if (numRows === 0) return;
    if (isCommand && event.key.toLowerCase() === "c" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.#callbacks.onCopy();
      return;
    }
    const isInHeader = this.#header.element.contains(event.target as Node);
    if (event.key === "Enter" && !isInHeader) {
      event.preventDefault();
      this.#callbacks.onOpen(this.#active);
      return;
    }
    if (this.#selecting.onKey(event, this.#active)) {
      event.preventDefault();
      return;
    }
    const geometry = this.#geometry;
    const pageRows = Math.max(1, Math.floor(geometry.viewportPx / geometry.rowHeightPx) - 1);
    const extent = { numRows, numColumns: this.#fields.length, pageRows };
    const to = moveFocus(event, this.#active, extent);
    if (to === undefined) return;
    event.preventDefault();
    this.#awaitedRow = undefined;
    if (event.key.startsWith("Page")) {
      const direction = event.key === "PageDown" ? 1 : -1;
      this.#topRow = clampTopRow(geometry, this.#topRow + direction * pageRows);
    }
    this.#selecting.moveTo(to, this.#active, event.shiftKey);
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
    const left = this.#layout.reveal(column, this.#scrollLeftPx, this.#columnsPx);
    if (left !== this.#scrollLeftPx) {
      element.scrollLeft = left;
      this.#scrollLeftPx = element.scrollLeft;
    }
    this.#moveTo(revealRow(this.#geometry, this.#topRow, row));
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
    }, IDLE_MS);
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const geometry = this.#geometry;
    const layout = this.#layout;
    const columns = layout.visible(this.#scrollLeftPx, this.#columnsPx);
    this.#header.draw(
      columns,
      this.#scrollLeftPx,
      layout,
      this.#fields,
      this.#alignments,
      this.#mustPlaceHeader,
    );
    this.#mustPlaceHeader = false;
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
        alignments: this.#alignments,
        cache: this.#cache,
        active: this.#active,
        selected: this.#selecting.rect,
        marks: this.#marks,
      });
      this.#selecting.draw();
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
    this.#cache.want(visible, around, geometry.numRows, this.#fields.length);
    const { failure } = this.#cache;
    if (failure === this.#failure) return;
    this.#failure = failure;
    this.#callbacks.onFailure(failure);
  }

  #sizeGutter(numRows: number): void {
    const gutterPx = gutterWidthPx(numRows);
    if (gutterPx <= this.#gutterPx) return;
    this.#gutterPx = gutterPx;
    this.element.style.setProperty("--gutter", `${gutterPx}px`);
  }

  #sizeContent(): void {
    const heightPx = spacerPx(this.#geometry) + this.#headerHeightPx;
    this.#content.style.height = `${heightPx}px`;
    this.#content.style.width = `${this.#gutterPx + this.#layout.totalPx}px`;
    this.element.style.setProperty("--row-height", `${this.#rowHeightPx}px`);
    this.element.style.setProperty("--header-height", `${this.#headerHeightPx}px`);
  }

  #sizeByHeader(): void {
    this.#setWidths(headerWidths(this.element, this.#fields));
  }

  /** Widens columns to their first rows, once: later rows must not move what is looked at. */
  async #sizeByRows(): Promise<void> {
    this.#sizing = "running";
    const read = this.#read;
    try {
      const widths = await cellWidths(this.element, this.#fields, read, this.#progress.numRows);
      if (read !== this.#read) return;
      this.#setWidths(widths);
    } catch {
      // The table is gone, which its own events say; widths by header are good enough.
      if (read !== this.#read) return;
    }
    this.#sizing = "done";
    this.#schedule();
  }

  #setWidths(widthsPx: readonly number[]): void {
    this.#layout = new ColumnLayout(widthsPx);
    this.#mustPlaceHeader = true;
    this.#rows.invalidate();
    this.#sizeContent();
    this.#schedule();
  }
}
