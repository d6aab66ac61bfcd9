import type { Field } from "../model/schema.js";
import { makeElement, setAttribute } from "./dom.js";

/** A bin of a histogram, or a frequent value. */
export interface PlotBin {
  count: number;
  /** How many of them pass the filter; undefined if there is no filter to compare with. */
  numShown: number | undefined;
}

/** The summary of a column, for drawing below its name. */
export interface ColumnSummary {
  /** The accessible name of the plot. */
  title: string;
  bins: readonly PlotBin[];
  /** Texts for the values and counts of bins `[first, last]`. */
  words(first: number, last: number): readonly string[];
  /** Whether choosing bins filters rows. */
  canChoose: boolean;
  /** The bins `[first, last]` that rows are filtered by. */
  chosen: readonly [first: number, last: number] | undefined;
  /** Pieces of the line above the plot; as many are shown as fit. */
  caption: readonly string[];
  /** Texts below the left and right edge of the plot. */
  start: string;
  end: string;
  /** The whole summary as exact text, for screen readers. */
  description: string;
  details: readonly string[];
}

/** The callbacks of a plot. */
export interface PlotCallbacks {
  onChoose(field: Field, first: number, last: number): void;
  onClear(field: Field): void;
  /** Lines to show beside the plot; undefined for none. */
  onRead(lines: readonly string[] | undefined): void;
}

const SVG = "http://www.w3.org/2000/svg";
/** The height of the plot, in SVG units. */
const HEIGHT = 24;
/** Minimum height of a bin that is not empty. */
const MIN_BAR = 1.5;

function shape(kind: "path" | "rect", className: string): SVGElement {
  const element = document.createElementNS(SVG, kind);
  element.setAttribute("class", className);
  return element;
}

/** The plot of one column summary: bars, texts below them, and a range of bins that the user can choose. */
export class SummaryPlot {
  readonly element = makeElement("summary");
  /** The column of the plot. */
  field: Field | undefined;
  readonly #callbacks: PlotCallbacks;
  readonly #cell: HTMLElement;
  readonly #plot = makeElement("plot");
  readonly #svg = document.createElementNS(SVG, "svg");
  readonly #range = shape("rect", "range");
  readonly #all = shape("path", "all");
  readonly #shown = shape("path", "shown");
  readonly #picked = shape("path", "shown");
  readonly #start = document.createElement("span");
  readonly #end = document.createElement("span");
  readonly #caption = makeElement("caption");
  #summary: ColumnSummary | undefined;
  /** The summary that arrived while a range was dragged. */
  #held: ColumnSummary | undefined;
  /** Bins under the pointer, or being chosen. */
  #marked: { anchor: number; head: number } | undefined;
  #isDragged = false;

  constructor(cell: HTMLElement, callbacks: PlotCallbacks) {
    this.#cell = cell;
    this.#callbacks = callbacks;
    this.#svg.setAttribute("preserveAspectRatio", "none");
    this.#svg.setAttribute("aria-hidden", "true");
    this.#svg.append(this.#range, this.#all, this.#shown, this.#picked);
    this.#plot.append(this.#svg);
    // The header's own hover text would cover the numbers.
    this.element.title = "";
    const axis = makeElement("axis");
    axis.append(this.#start, this.#end);
    this.element.append(this.#caption, this.#plot, axis);
    cell.append(this.element);
    this.#listen();
  }

  /** Gives the focus to the bars, if there are any. */
  focus(): void {
    if (this.#plot.hidden) return;
    const [first, last] = this.#summary?.chosen ?? [0, 0];
    this.#mark({ anchor: first, head: last });
    this.#plot.classList.remove("pointed");
    this.#plot.focus({ preventScroll: true });
  }

  /** Draws the summary of a column, or nothing. */
  draw(field: Field | undefined, summary: ColumnSummary | undefined): void {
    if (field !== this.field) {
      this.#isDragged = false;
      this.#marked = undefined;
    }
    this.field = field;
    if (this.#isDragged) {
      this.#held = summary;
      return;
    }
    if (summary === this.#summary) return;
    this.#summary = summary;
    const bins = summary?.bins ?? [];
    this.#plot.hidden = bins.length === 0;
    this.#start.textContent = summary?.start ?? "";
    this.#end.textContent = summary?.end ?? "";
    this.#caption.replaceChildren(...(summary?.caption ?? []).map(makeText));
    if (bins.length === 0) return;
    const isCompared = bins.some(({ numShown }) => numShown !== undefined);
    this.#svg.setAttribute("viewBox", `0 0 ${bins.length} ${HEIGHT}`);
    this.#svg.classList.toggle("compared", isCompared);
    const most = Math.max(...bins.map(({ count }) => count));
    this.#all.setAttribute("d", bars(bins.map(({ count }) => count / most)));
    this.#shown.setAttribute("d", bars(bins.map(({ numShown = 0 }) => numShown / most)));
    this.#plot.classList.toggle("choosable", summary?.canChoose === true);
    this.#plot.tabIndex = -1;
    this.#plot.setAttribute("role", "slider");
    this.#plot.setAttribute("aria-valuemin", "0");
    this.#plot.setAttribute("aria-valuemax", String(bins.length - 1));
    this.#plot.setAttribute("aria-label", summary?.title ?? "");
    this.#mark(this.#marked);
  }

  /** Marks bins, and shows their values and counts. */
  #mark(marked: { anchor: number; head: number } | undefined): void {
    const summary = this.#summary;
    this.#marked = marked;
    if (summary === undefined) return;
    const last = summary.bins.length - 1;
    const within = (bin: number) => Math.max(0, Math.min(bin, last));
    if (marked !== undefined) {
      this.#marked = { anchor: within(marked.anchor), head: within(marked.head) };
    }
    const range = this.#chosen ?? summary.chosen;
    this.#range.setAttribute("x", String(range?.[0] ?? 0));
    this.#range.setAttribute("width", String(range ? range[1] - range[0] + 1 : 0));
    this.#range.setAttribute("height", String(HEIGHT));
    this.#picked.setAttribute("d", bars(this.#heights(range)));
    const lines = this.#chosen === undefined ? undefined : this.#words(...this.#chosen);
    setAttribute(this.#plot, "aria-valuenow", String(this.#marked?.head ?? range?.[0] ?? 0));
    const said = lines ?? this.#words(...(range ?? [0, 0]));
    setAttribute(this.#plot, "aria-valuetext", said.join(": "));
    this.#callbacks.onRead(lines && [...lines, ...summary.details]);
  }

  /** The heights of the bars in a range; 0 for others, and where filtered bars are highlighted already. */
  #heights(range: readonly [number, number] | undefined): number[] {
    const bins = this.#summary?.bins ?? [];
    const most = Math.max(...bins.map(({ count }) => count));
    return bins.map(({ count, numShown }, bin) => {
      const isIn = range !== undefined && bin >= range[0] && bin <= range[1];
      return isIn && numShown === undefined ? count / most : 0;
    });
  }

  /** The marked bins in order. */
  get #chosen(): [number, number] | undefined {
    const marked = this.#marked;
    if (marked === undefined) return undefined;
    return [Math.min(marked.anchor, marked.head), Math.max(marked.anchor, marked.head)];
  }

  #words(first: number, last: number): readonly string[] {
    return this.#summary?.words(first, last) ?? [];
  }

  #listen(): void {
    const plot = this.#plot;
    // Clicks and drags here must not sort or move the column.
    for (const type of ["click", "dblclick"] as const) {
      plot.addEventListener(type, (event) => event.stopPropagation());
    }
    plot.addEventListener("mousedown", (event) => {
      event.stopPropagation();
      event.preventDefault();
    });
    plot.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      if (event.button !== 0 || this.#summary?.canChoose !== true) return;
      plot.focus({ preventScroll: true });
      plot.classList.add("pointed");
      plot.setPointerCapture(event.pointerId);
      this.#isDragged = true;
      this.#held = this.#summary;
      const bin = this.#binAt(event);
      this.#mark({ anchor: bin, head: bin });
    });
    plot.addEventListener("pointermove", (event) => {
      const head = this.#binAt(event);
      const anchor = this.#isDragged ? (this.#marked?.anchor ?? head) : head;
      if (this.#marked?.head !== head || this.#marked.anchor !== anchor) {
        this.#mark({ anchor, head });
      }
    });
    plot.addEventListener("pointerup", () => this.#release(true));
    plot.addEventListener("pointercancel", () => this.#release(false));
    plot.addEventListener("pointerleave", () => {
      const isByKeyboard = plot.matches(":focus:not(.pointed)");
      if (!this.#isDragged && !isByKeyboard) this.#mark(undefined);
    });
    plot.addEventListener("blur", () => {
      if (!this.#isDragged) this.#mark(undefined);
    });
    plot.addEventListener("keydown", (event) => this.#onKey(event));
  }

  #release(isDone: boolean): void {
    if (!this.#isDragged) return;
    this.#isDragged = false;
    const { field } = this;
    if (isDone) this.#choose();
    else this.#mark(undefined);
    if (field === this.field) this.draw(field, this.#held);
  }

  /** Chooses the marked bins, or clears the choice if it is the same. */
  #choose(): void {
    const { field } = this;
    const chosen = this.#chosen;
    if (field === undefined || chosen === undefined || !this.#summary?.canChoose) return;
    const [first, last] = this.#summary.chosen ?? [];
    if (chosen[0] === first && chosen[1] === last) this.#callbacks.onClear(field);
    else this.#callbacks.onChoose(field, ...chosen);
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.field === undefined) return;
    this.#plot.classList.remove("pointed");
    const last = (this.#summary?.bins.length ?? 1) - 1;
    const { anchor, head } = this.#marked ?? { anchor: 0, head: 0 };
    const go = (to: number) => this.#mark({ anchor: event.shiftKey ? anchor : to, head: to });
    switch (event.key) {
      case "ArrowLeft":
        go(Math.max(0, head - 1));
        break;
      case "ArrowRight":
        go(Math.min(last, head + 1));
        break;
      case "Home":
        go(0);
        break;
      case "End":
        go(last);
        break;
      case "Enter":
      case " ":
        this.#choose();
        break;
      case "Escape":
        if (this.#summary?.chosen === undefined) this.#cell.focus({ preventScroll: true });
        else this.#callbacks.onClear(this.field);
        break;
      case "F2":
      case "ArrowUp":
        this.#cell.focus({ preventScroll: true });
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #binAt({ clientX }: PointerEvent): number {
    const { left, width } = this.#svg.getBoundingClientRect();
    const numBins = this.#summary?.bins.length ?? 1;
    const bin = Math.floor(((clientX - left) / Math.max(1, width)) * numBins);
    return Math.max(0, Math.min(bin, numBins - 1));
  }
}

function makeText(text: string): HTMLElement {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}

/** The SVG path of bars, from their heights between 0 and 1. */
function bars(heights: readonly number[]): string {
  const gap = heights.length > 1 ? 0.08 : 0;
  return heights
    .map((height, bin) => {
      if (!(height > 0)) return "";
      const top = HEIGHT - Math.max(MIN_BAR, height * (HEIGHT - 1));
      return `M${bin + gap} ${HEIGHT}V${top.toFixed(2)}H${bin + 1 - gap}V${HEIGHT}Z`;
    })
    .join("");
}
