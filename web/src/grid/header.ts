import type { Field } from "../model/schema.js";
import { type Alignment, type ColumnLayout, pinnedClass } from "./columns.js";
import { sortChildren } from "./dom.js";
import { type CellPosition, HEADER_ROW } from "./keyboard.js";
import { Recycler } from "./recycler.js";
import { HeaderSummaries } from "./summaries.js";

/** The mark of a header beside name and type. */
export interface HeaderMark {
  /** The direction of the sort by it; undefined if rows are not sorted by it. */
  direction: "ascending" | "descending" | undefined;
  /** Its position among several sort keys, from 1; undefined if it is the only one. */
  priority: number | undefined;
  isFiltered: boolean;
  /** Whether rows can be sorted by it. */
  canSort: boolean;
}

/** The frame to draw: columns `[start, end)`, and their layout. */
export interface HeaderFrame {
  columns: { start: number; end: number };
  scrollLeftPx: number;
  layout: ColumnLayout;
  fields: readonly Field[];
  alignments: readonly Alignment[];
  marks: readonly HeaderMark[];
  /** The column whose header has the roving tab stop; undefined if a cell has it. */
  active: number | undefined;
}

interface HeaderCell {
  element: HTMLElement;
  name: HTMLElement;
  type: HTMLElement;
  sort: HTMLElement;
  menu: HTMLElement;
  column: number;
}

/** The header row: names, types, sort marks and menu buttons of the visible columns. */
export class GridHeader {
  readonly element: HTMLElement;
  /** The summaries below the names of columns. */
  readonly summaries: HeaderSummaries;
  readonly #row: HTMLElement;
  readonly #cells: Recycler<HeaderCell>;
  #tabStop: HTMLElement | undefined;
  #mustPlace = true;
  #scrollLeftPx = 0;

  constructor() {
    this.element = document.createElement("div");
    this.element.className = "head";
    this.element.setAttribute("role", "rowgroup");
    this.#row = document.createElement("div");
    this.#row.className = "header-row";
    this.#row.setAttribute("role", "row");
    this.#row.setAttribute("part", "header");
    this.#row.setAttribute("aria-rowindex", "1");
    this.element.append(this.#row);
    this.summaries = new HeaderSummaries(this.element);
    this.#cells = new Recycler(
      () => this.#makeCell(),
      (cell) => {
        cell.element.hidden = true;
        cell.column = -1;
      },
    );
  }

  /** Makes the next drawing rewrite every cell, because widths, fields or marks changed. */
  invalidate(): void {
    this.#mustPlace = true;
  }

  /** Positions the cells as in the frame. */
  draw(frame: HeaderFrame): void {
    const { columns, fields, active } = frame;
    const mustPlace = this.#mustPlace;
    this.#mustPlace = false;
    const { scrollLeftPx, layout } = frame;
    const isScrolled = scrollLeftPx !== this.#scrollLeftPx;
    this.#scrollLeftPx = scrollLeftPx;
    this.#row.style.transform = `translateX(${-scrollLeftPx}px)`;
    const assign = (cell: HeaderCell, column: number) => {
      const field = fields[column];
      const isMoved = isScrolled && column < layout.numPinned;
      if (field === undefined || (cell.column === column && !mustPlace && !isMoved)) return;
      cell.column = column;
      writeCell(cell, field, frame);
      this.summaries.assign(cell.element, field);
    };
    this.#cells.assign(columns.start, columns.end, active, assign, layout.numPinned);
    const stop = active === undefined ? undefined : this.cellElement(active);
    if (stop === this.#tabStop) return;
    if (this.#tabStop !== undefined) this.#tabStop.tabIndex = -1;
    if (stop !== undefined) stop.tabIndex = 0;
    this.#tabStop = stop;
  }

  /** The header of a column, if it is mounted. */
  cellElement(column: number): HTMLElement | undefined {
    return this.#cells.get(column)?.element;
  }

  /** The column of the mounted header that an event happened in. */
  columnOf(target: EventTarget | null): number | undefined {
    const element = target instanceof Element ? target.closest(".header-cell") : null;
    return element === null ? undefined : Number(element.getAttribute("aria-colindex")) - 1;
  }

  /** The column whose header is at a position of the page; undefined if there is none. */
  columnAt(clientX: number): number | undefined {
    for (const [column, { element }] of this.#cells.entries()) {
      const { left, right } = element.getBoundingClientRect();
      if (clientX >= left && clientX < right) return column;
    }
    return undefined;
  }

  /** Shows where a dragged column would be dropped; nowhere if undefined. */
  showDrop(column: number, to: number | undefined): void {
    for (const [index, { element }] of this.#cells.entries()) {
      const isTarget = index === to && to !== column;
      element.classList.toggle("dragged", index === column && to !== undefined);
      element.classList.toggle("drop-before", isTarget && index < column);
      element.classList.toggle("drop-after", isTarget && index > column);
    }
  }

  /** The mounted header that an event happened in, as a position of the grid. */
  positionOf(target: EventTarget | null): CellPosition | undefined {
    const column = this.columnOf(target);
    return column === undefined ? undefined : { row: HEADER_ROW, column };
  }

  /** Puts the cells in reading order for screen readers; the focused one stays where it is. */
  sortForReaders(): void {
    const sorted = [...this.#cells.entries()].sort(([a], [b]) => a - b);
    sortChildren(
      this.#row,
      sorted.map(([, { element }]) => element),
    );
  }

  #makeCell(): HeaderCell {
    const element = document.createElement("div");
    element.setAttribute("role", "columnheader");
    element.tabIndex = -1;
    const name = document.createElement("span");
    name.className = "name";
    const type = document.createElement("span");
    type.className = "type";
    const sort = document.createElement("span");
    sort.className = "sort";
    sort.setAttribute("aria-hidden", "true");
    // Not focusable, because the grid has one tab stop: Alt+ArrowDown on the header opens the menu.
    const menu = document.createElement("button");
    menu.className = "menu";
    menu.type = "button";
    menu.tabIndex = -1;
    menu.setAttribute("aria-hidden", "true");
    const edge = document.createElement("i");
    edge.className = "edge";
    edge.setAttribute("aria-hidden", "true");
    element.append(name, type, sort, menu, edge);
    this.#row.append(element);
    return { element, name, type, sort, menu, column: -1 };
  }
}

const ARROWS = { ascending: "↑", descending: "↓" };

function writeCell(
  cell: HeaderCell,
  field: Field,
  { layout, alignments, marks, scrollLeftPx }: HeaderFrame,
): void {
  const { element, column } = cell;
  const mark = marks[column];
  const isSorted = mark?.direction !== undefined;
  element.hidden = false;
  const classes = [
    alignments[column] === "end" ? "end" : "",
    isSorted ? "sorted" : "",
    mark?.isFiltered ? "filtered" : "",
    pinnedClass(column, layout),
  ];
  element.className = `header-cell ${classes.join(" ")}`;
  element.setAttribute("aria-colindex", String(column + 1));
  element.setAttribute("aria-keyshortcuts", "Alt+ArrowDown Alt+ArrowRight Shift+ArrowRight");
  if (mark?.canSort) element.setAttribute("aria-sort", mark.direction ?? "none");
  else element.removeAttribute("aria-sort");
  if (mark?.isFiltered) element.setAttribute("aria-description", "filtered");
  else element.removeAttribute("aria-description");
  element.style.transform = `translateX(${layout.placePx(column, scrollLeftPx)}px)`;
  element.style.width = `${layout.widthPx(column)}px`;
  element.title = `${field.name}\n${field.type}${field.nullable ? "" : ", not null"}`;
  cell.name.textContent = field.name;
  cell.type.textContent = field.type;
  cell.sort.textContent = isSorted
    ? `${ARROWS[mark.direction ?? "ascending"]}${mark.priority ?? ""}`
    : "";
  cell.menu.title = `Sort, filter, move or hide ${field.name} (Alt+↓)`;
}
