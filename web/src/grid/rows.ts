import { formatCount } from "../model/counts.js";
import { CellKind } from "../model/row-window.js";
import type { CellCache, CellRect } from "./cache.js";
import { type Alignment, type ColumnLayout, pinnedClass } from "./columns.js";
import { sortChildren } from "./dom.js";
import type { CellPosition } from "./keyboard.js";
import { Recycler } from "./recycler.js";
import { contains } from "./selection.js";

/** The mark of a cell: a match, or the current one. */
export type CellMark = "match" | "current";

/** The key of a cell in the map of marks. */
export function markKey(row: number, column: number): string {
  return `${row}:${column}`;
}

/** The frame to draw: visible rows and columns `[start, end)`, and their layout. */
export interface Frame {
  rows: { start: number; end: number };
  columns: { start: number; end: number };
  topRow: number;
  scrollLeftPx: number;
  rowHeightPx: number;
  layout: ColumnLayout;
  alignments: readonly Alignment[];
  cache: CellCache;
  /** The cell with the roving tab stop. */
  active: CellPosition;
  selected: CellRect | undefined;
  marks: ReadonlyMap<string, CellMark>;
}

interface CellView {
  element: HTMLElement;
  text: Text;
  column: number;
  /** The row whose text is shown; undefined while it is pending. */
  row: number | undefined;
  className: string;
  isSelected: boolean;
  mark: CellMark | undefined;
}

interface RowView {
  element: HTMLElement;
  number: HTMLElement;
  numberText: Text;
  cells: Recycler<CellView>;
  row: number;
  topPx: number;
  isHidden: boolean;
  isSelected: boolean;
}

/** The greatest distance from the anchor row, so that positions relative to it stay exact as float32. */
const MAX_ANCHOR_ROWS = 10_000;

/**
 * The rows of the grid and their cells. Only this class writes them. Elements are reused, and a value
 * is written only if it changed.
 */
export class GridRows {
  /** The rowgroup, to be moved by {@link draw}. */
  readonly body: HTMLElement;
  /** Row numbers, outside the rowgroup because they do not scroll sideways. */
  readonly gutter: HTMLElement;
  readonly #rows: Recycler<RowView>;
  #anchorRow = 0;
  #tabStop: HTMLElement | undefined;
  #version = 0;
  #drawnVersion = 0;
  #scrollLeftPx = 0;

  constructor() {
    this.body = document.createElement("div");
    this.body.className = "rows";
    this.body.setAttribute("role", "rowgroup");
    this.body.addEventListener("mouseover", showWholeText);
    this.gutter = document.createElement("div");
    this.gutter.className = "numbers";
    this.#rows = new Recycler(
      () => this.#makeRow(),
      (view) => releaseRow(view),
    );
  }

  /** Hides all rows and clears their cells, because another table follows. */
  clear(): void {
    this.#rows.assign(0, 0, undefined, () => undefined);
    if (this.#tabStop !== undefined) this.#tabStop.tabIndex = -1;
    this.#tabStop = undefined;
    this.#anchorRow = 0;
    this.invalidate();
  }

  /** Makes the next drawing reposition every cell, because column widths or positions changed. */
  invalidate(): void {
    this.#version++;
  }

  /** Positions rows and cells as in the frame. Costs O(viewport). */
  draw(frame: Frame): void {
    const { rows, topRow, rowHeightPx, active } = frame;
    const isMoved = Math.abs(topRow - this.#anchorRow) > MAX_ANCHOR_ROWS;
    if (isMoved) this.#anchorRow = Math.floor(topRow);
    const mustPlace = this.#drawnVersion !== this.#version;
    this.#drawnVersion = this.#version;
    const isScrolled = frame.scrollLeftPx !== this.#scrollLeftPx;
    this.#scrollLeftPx = frame.scrollLeftPx;
    // Whole device pixels keep text sharp.
    const ratio = globalThis.devicePixelRatio || 1;
    const offsetPx = Math.round((topRow - this.#anchorRow) * rowHeightPx * ratio) / ratio;
    this.body.style.transform = `translate(${-frame.scrollLeftPx}px, ${-offsetPx}px)`;
    this.gutter.style.transform = `translateY(${-offsetPx}px)`;
    this.#rows.assign(rows.start, rows.end, active.row, (view, row) => {
      // The row with the focus may be any distance away, so it is kept just above the viewport.
      const isAway = row < rows.start || row >= rows.end;
      const position = isAway ? Math.floor(topRow) - 3 : row;
      this.#placeRow(view, row, (position - this.#anchorRow) * rowHeightPx);
      this.#drawCells(view, frame, mustPlace, isScrolled);
      markNumber(view, row, frame.selected);
    });
    this.#moveTabStop(active);
  }

  /** The element of a cell, if it is mounted. */
  cellElement({ row, column }: CellPosition): HTMLElement | undefined {
    return this.#rows.get(row)?.cells.get(column)?.element;
  }

  /** The mounted cell that an event happened in. */
  positionOf(target: EventTarget | null): CellPosition | undefined {
    const element = target instanceof Element ? target.closest<HTMLElement>(".cell") : null;
    const row = element?.parentElement;
    if (!element || !row) return undefined;
    return {
      row: Number(row.getAttribute("aria-rowindex")) - 2,
      column: Number(element.getAttribute("aria-colindex")) - 1,
    };
  }

  /**
   * Puts rows and cells in reading order for screen readers. The row and the cell with the focus stay
   * where they are; the others move around them.
   */
  sortForReaders(): void {
    const views = [...this.#rows.entries()].sort(([a], [b]) => a - b).map(([, view]) => view);
    sortChildren(
      this.body,
      views.map(({ element }) => element),
    );
    for (const { element, cells } of views) {
      const sorted = [...cells.entries()].sort(([a], [b]) => a - b);
      sortChildren(
        element,
        sorted.map(([, cell]) => cell.element),
      );
    }
  }

  #makeRow(): RowView {
    const element = document.createElement("div");
    element.className = "row";
    element.setAttribute("role", "row");
    element.setAttribute("part", "row");
    const number = document.createElement("div");
    number.className = "number";
    const numberText = document.createTextNode("");
    number.append(numberText);
    this.body.append(element);
    this.gutter.append(number);
    const cells = new Recycler<CellView>(
      () => makeCell(element),
      (cell) => {
        cell.element.hidden = true;
        cell.column = -1;
      },
    );
    return {
      element,
      number,
      numberText,
      cells,
      row: -1,
      topPx: -1,
      isHidden: false,
      isSelected: false,
    };
  }

  #placeRow(view: RowView, row: number, topPx: number): void {
    setHidden(view, false);
    if (view.row !== row) {
      view.row = row;
      // Row 1 is the header.
      view.element.setAttribute("aria-rowindex", String(row + 2));
      view.numberText.data = formatCount(row + 1);
    }
    if (view.topPx !== topPx) {
      view.topPx = topPx;
      const transform = `translateY(${topPx}px)`;
      view.element.style.transform = transform;
      view.number.style.transform = transform;
    }
  }

  #drawCells(view: RowView, frame: Frame, mustPlace: boolean, isScrolled: boolean): void {
    const { columns, layout, alignments, cache, active, selected, marks } = frame;
    const kept = active.row === view.row ? active.column : undefined;
    const draw = (cell: CellView, column: number) => {
      const isMoved = isScrolled && column < layout.numPinned;
      if (cell.column !== column || mustPlace || isMoved) {
        placeCell(cell, column, layout, frame.scrollLeftPx);
      }
      markCell(
        cell,
        contains(selected, view.row, column),
        marks.size === 0 ? undefined : marks.get(markKey(view.row, column)),
      );
      if (cell.row === view.row && !mustPlace) return;
      const cached = cache.cell(view.row, column);
      const alignment = `${alignments[column] === "end" ? " end" : ""}${pinnedClass(column, layout)}`;
      if (cached === undefined) {
        if (cache.hasFailed(view.row, column))
          writeCell(cell, "not loaded", `cell failed${alignment}`);
        else writeCell(cell, "", `cell pending${alignment}`);
        cell.row = undefined;
        return;
      }
      const { window, position } = cached;
      const kind = window.kind(view.row, position);
      const text = kind === CellKind.null ? "null" : window.text(view.row, position);
      const cut = window.isCut(view.row, position) ? "…" : "";
      const look = text === "" ? " empty" : (CLASS_OF_KIND[kind] ?? "");
      // A cell shows one line, so a mark has to tell that text follows after a line break.
      const lines = /[\n\r]/.test(text) ? " lines" : "";
      writeCell(cell, text + cut, `cell${look}${lines}${alignment}`);
      cell.row = view.row;
    };
    view.cells.assign(columns.start, columns.end, kept, draw, layout.numPinned);
  }

  #moveTabStop(active: CellPosition): void {
    const element = this.cellElement(active);
    if (element === this.#tabStop) return;
    if (this.#tabStop !== undefined) this.#tabStop.tabIndex = -1;
    if (element !== undefined) element.tabIndex = 0;
    this.#tabStop = element;
  }
}

const CLASS_OF_KIND: Record<CellKind, string> = {
  [CellKind.value]: "",
  [CellKind.null]: " null",
  [CellKind.notFinite]: " not-finite",
  [CellKind.raw]: " raw",
};

function makeCell(row: HTMLElement): CellView {
  const element = document.createElement("div");
  element.className = "cell";
  element.setAttribute("role", "gridcell");
  element.setAttribute("part", "cell");
  element.setAttribute("aria-selected", "false");
  element.tabIndex = -1;
  const text = document.createTextNode("");
  element.append(text);
  row.append(element);
  return {
    element,
    text,
    column: -1,
    row: undefined,
    className: "cell",
    isSelected: false,
    mark: undefined,
  };
}

function placeCell(
  cell: CellView,
  column: number,
  layout: ColumnLayout,
  scrollLeftPx: number,
): void {
  const { element } = cell;
  element.hidden = false;
  element.style.transform = `translateX(${layout.placePx(column, scrollLeftPx)}px)`;
  element.style.width = `${layout.widthPx(column)}px`;
  if (cell.column === column) return;
  element.setAttribute("aria-colindex", String(column + 1));
  cell.column = column;
  cell.row = undefined;
}

function writeCell(cell: CellView, text: string, className: string): void {
  if (cell.text.data !== text) cell.text.data = text;
  if (cell.className !== className) {
    cell.className = className;
    cell.element.className = className;
  }
}

function markCell(cell: CellView, isSelected: boolean, mark: CellMark | undefined): void {
  if (cell.isSelected !== isSelected) {
    cell.isSelected = isSelected;
    cell.element.setAttribute("aria-selected", String(isSelected));
  }
  if (cell.mark !== mark) {
    cell.mark = mark;
    if (mark === undefined) delete cell.element.dataset.mark;
    else cell.element.dataset.mark = mark;
  }
}

function markNumber(view: RowView, row: number, selected: CellRect | undefined): void {
  const isSelected = selected !== undefined && row >= selected.rowStart && row < selected.rowEnd;
  if (view.isSelected === isSelected) return;
  view.isSelected = isSelected;
  view.number.classList.toggle("selected", isSelected);
}

/** Shows the whole text of a cell as hover text if it is cut off. */
function showWholeText({ target }: Event): void {
  if (!(target instanceof HTMLElement) || !target.classList.contains("cell")) return;
  const isCut = target.scrollWidth > target.clientWidth || target.classList.contains("lines");
  target.title = isCut ? (target.textContent ?? "") : "";
}

/** Hides a row and clears its cells, because it may next show another table's row of the same number. */
function releaseRow(view: RowView): void {
  if (view.isHidden) return;
  setHidden(view, true);
  view.row = -1;
  view.element.removeAttribute("aria-rowindex");
  for (const [, cell] of view.cells.entries()) cell.row = undefined;
}

function setHidden(view: RowView, isHidden: boolean): void {
  if (view.isHidden === isHidden) return;
  view.isHidden = isHidden;
  view.element.hidden = isHidden;
  view.number.hidden = isHidden;
}
