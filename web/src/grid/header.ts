import type { Field } from "../schema.js";
import type { Alignment, ColumnLayout } from "./columns.js";
import { Recycler } from "./recycler.js";

interface HeaderCell {
  element: HTMLElement;
  name: HTMLElement;
  type: HTMLElement;
  column: number;
}

/** The header row: names and types of the visible columns. */
export class GridHeader {
  readonly element: HTMLElement;
  readonly #row: HTMLElement;
  readonly #cells: Recycler<HeaderCell>;

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
    this.#cells = new Recycler(
      () => this.#makeCell(),
      (cell) => {
        cell.element.hidden = true;
        cell.column = -1;
      },
    );
  }

  /** Shows columns `[start, end)`; `mustPlace` when widths or fields changed. */
  draw(
    columns: { start: number; end: number },
    scrollLeftPx: number,
    layout: ColumnLayout,
    fields: readonly Field[],
    alignments: readonly Alignment[],
    mustPlace: boolean,
  ): void {
    this.#row.style.transform = `translateX(${-scrollLeftPx}px)`;
    this.#cells.assign(columns.start, columns.end, undefined, (cell, column) => {
      const field = fields[column];
      if (field === undefined || (cell.column === column && !mustPlace)) return;
      const { element } = cell;
      cell.column = column;
      element.hidden = false;
      element.className = alignments[column] === "end" ? "header-cell end" : "header-cell";
      element.setAttribute("aria-colindex", String(column + 1));
      element.style.transform = `translateX(${layout.leftPx(column)}px)`;
      element.style.width = `${layout.widthPx(column)}px`;
      element.title = `${field.name}\n${field.type}${field.nullable ? "" : ", not null"}`;
      cell.name.textContent = field.name;
      cell.type.textContent = field.type;
    });
  }

  /** Puts the cells in reading order. */
  sortForReaders(): void {
    const sorted = [...this.#cells.entries()].sort(([a], [b]) => a - b);
    for (const [, { element }] of sorted) this.#row.append(element);
  }

  #makeCell(): HeaderCell {
    const element = document.createElement("div");
    element.setAttribute("role", "columnheader");
    const name = document.createElement("span");
    name.className = "name";
    const type = document.createElement("span");
    type.className = "type";
    element.append(name, type);
    this.#row.append(element);
    return { element, name, type, column: -1 };
  }
}
