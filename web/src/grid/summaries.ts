import type { Field } from "../model/schema.js";
import { makeElement, setAttribute } from "./dom.js";
import type { ColumnSummary, SummaryPlot } from "./summary-plot.js";

/** The height of the header without and with summaries, in px. */
const HEADER_PX = 46;
const SUMMARISED_PX = 104;

/** Callbacks for the user's actions at the summary of a column. */
export interface SummaryCallbacks {
  /** Bins `[first, last]` of a column were chosen. */
  onChoose(field: Field, first: number, last: number): void;
  /** The choice of bins was cleared. */
  onClear(field: Field): void;
  /** Other columns have become visible. */
  onSight(): void;
}

/** The column summaries in the header's cells. */
export class HeaderSummaries {
  /** Exact numbers of the bin under the pointer, beside the header. */
  readonly #readout = makeElement("readout");
  /** The header that the readout belongs to: the one pointed at or focused last. */
  #read: HTMLElement | undefined;
  #isDrawing = false;
  /** Called for the user's actions. */
  callbacks: SummaryCallbacks | undefined;
  /** The columns of the header's cells. */
  readonly #fields = new Map<HTMLElement, Field | undefined>();
  readonly #plots = new Map<Element, SummaryPlot>();
  /** Loaded with the first summary. */
  #Plot: typeof SummaryPlot | undefined;
  #summaries: ReadonlyMap<Field, ColumnSummary> = new Map();
  readonly #header: HTMLElement;
  #isShown = false;
  #isSightNew = false;

  /** @param header the element that gets the key events of its cells */
  constructor(header: HTMLElement) {
    this.#header = header;
    this.#readout.setAttribute("aria-hidden", "true");
    this.#readout.hidden = true;
    header.addEventListener("keydown", (event) => {
      const plot = event.key === "F2" && this.#plots.get(event.target as Element);
      if (!plot || !this.#isShown) return;
      plot.focus();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  get isShown(): boolean {
    return this.#isShown;
  }

  /** Shows or hides all summaries; returns the height that the header needs, in px. */
  show(isShown: boolean): number {
    this.#isShown = isShown;
    this.#header.classList.toggle("summaries", isShown);
    this.#header.after(this.#readout);
    this.#drawAll();
    return isShown ? SUMMARISED_PX : HEADER_PX;
  }

  /** The columns whose headers are visible. */
  get fieldsInSight(): readonly Field[] {
    const cells = [...this.#fields].filter(([cell]) => !cell.hidden);
    return cells.flatMap(([, field]) => field ?? []);
  }

  /** Draws the summaries of columns, each as a `Plot`. */
  draw(summaries: ReadonlyMap<Field, ColumnSummary>, Plot: typeof SummaryPlot): void {
    this.#summaries = summaries;
    this.#Plot = Plot;
    this.#drawAll();
  }

  #drawAll(): void {
    for (const [cell, field] of this.#fields) this.assign(cell, field);
  }

  /** Assigns a column to a header's cell. */
  assign(cell: HTMLElement, field: Field | undefined): void {
    if (this.#isShown && field !== this.#fields.get(cell)) this.#reportSight();
    if (this.#isShown || this.#fields.has(cell)) this.#fields.set(cell, field);
    let plot = this.#plots.get(cell);
    if (plot === undefined) {
      if (!this.#isShown || field === undefined || this.#Plot === undefined) return;
      plot = new this.#Plot(cell, {
        onChoose: (of, first, last) => this.callbacks?.onChoose(of, first, last),
        onClear: (of) => this.callbacks?.onClear(of),
        onRead: (lines) => this.#readOut(cell, lines),
      });
      this.#plots.set(cell, plot);
    }
    const summary = field === undefined ? undefined : this.#summaries.get(field);
    plot.element.hidden = !this.#isShown;
    this.#isDrawing = true;
    plot.draw(field, summary);
    this.#isDrawing = false;
    if (field === undefined) return;
    // Named explicitly, because the texts of the plot do not belong to the column's name.
    if (this.#isShown) setAttribute(cell, "aria-label", `${field.name} ${field.type}`);
    else cell.removeAttribute("aria-label");
    const isFiltered = cell.classList.contains("filtered") ? ["filtered"] : [];
    const said = this.#isShown && summary !== undefined ? [summary.description] : [];
    const description = [...isFiltered, ...said].join("; ");
    if (description !== "") setAttribute(cell, "aria-description", description);
    else cell.removeAttribute("aria-description");
  }

  /** Reports new visible columns once for all cells that are drawn together. */
  #reportSight(): void {
    if (this.#isSightNew) return;
    this.#isSightNew = true;
    queueMicrotask(() => {
      this.#isSightNew = false;
      this.callbacks?.onSight();
    });
  }

  #readOut(cell: HTMLElement, lines: readonly string[] | undefined): void {
    const readout = this.#readout;
    // A plot that is only redrawn, or that the pointer left, does not replace the one being read.
    if (cell !== this.#read && (this.#isDrawing || lines === undefined)) return;
    this.#read = lines && cell;
    readout.hidden = lines === undefined;
    if (lines === undefined) return;
    readout.replaceChildren(
      ...lines.map((line) => {
        const element = makeElement("");
        element.textContent = line;
        return element;
      }),
    );
    const layer = readout.offsetParent?.getBoundingClientRect();
    const { left, bottom } = cell.getBoundingClientRect();
    if (layer === undefined) return;
    const rightmost = layer.width - readout.offsetWidth - 4;
    readout.style.left = `${Math.max(4, Math.min(left - layer.left, rightmost))}px`;
    readout.style.top = `${bottom - layer.top + 3}px`;
  }
}
