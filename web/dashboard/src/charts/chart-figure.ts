import { html, LitElement, nothing, type PropertyDeclarations, svg } from "lit";
import { formatRows } from "../text/format.js";
import { figureStyles } from "./chart-figure-styles.js";
import type { ChartData } from "./chart-loader.js";
import type { Brush } from "./chart-spec.js";
import { draw } from "./draw.js";
import { brushOf, type Drawing, markedBy, type Span, type Stop } from "./drawing.js";
import type { Palette } from "./image-files.js";
import { FONT, INKS, rect, type Shape } from "./scene.js";

/** The range that is being brushed, on both axes of a scatter chart. */
interface Draft {
  positions: Span;
  crossPositions: Span | undefined;
}

/** A drag that pauses this long is applied before it ends, in ms. */
const REST_MS = 250;
/** The largest distance of the pointer from a point that it selects, in pixels. */
const NEAR_PX = 28;
/** A press that moves less than this is a click, in pixels. */
const CLICK_PX = 4;

const context = new OffscreenCanvas(1, 1).getContext("2d");

/** Measures the width of a text in the font of charts, in pixels. */
export function measureText(text: string, sizePx: number): number {
  if (context === null) return text.length * sizePx * 0.55;
  context.font = `${sizePx}px ${FONT}`;
  return context.measureText(text).width;
}

/**
 * The drawing of a chart with tooltips and brushing, by pointer or keyboard: arrows move among its
 * values, Shift with arrows brushes, Enter applies the brush, Escape clears it.
 *
 * @fires figure-brush - detail: the brush, or null
 */
export class ChartFigure extends LitElement {
  static override styles = figureStyles;
  static override properties: PropertyDeclarations = {
    data: { attribute: false },
    name: { attribute: false },
    summary: { attribute: false },
    width: { state: true },
    active: { state: true },
    draft: { state: true },
  };

  declare data: ChartData;
  /** The chart's title. */
  declare name: string;
  declare summary: string;
  /** The available width in pixels; 0 while it is unknown. */
  declare width: number;
  /** The index of the active stop. */
  declare active: number | undefined;
  declare draft: Draft | undefined;
  #drawing: Drawing | undefined;
  #press:
    | { x: number; y: number; position: number; crossPosition: number | undefined; isDrag: boolean }
    | undefined;
  #rest: ReturnType<typeof setTimeout> | undefined;
  readonly #observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    // A frame later, because a drawing also changes the height, which is observed too.
    if (width > 0) requestAnimationFrame(() => (this.width = width));
  });

  constructor() {
    super();
    this.name = "";
    this.summary = "";
    this.width = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#observer.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer.disconnect();
    clearTimeout(this.#rest);
  }

  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>(".chart")?.focus();
  }

  /** The page's colours of inks. */
  get palette(): Palette {
    const probe = document.createElementNS("http://www.w3.org/2000/svg", "path");
    this.renderRoot.querySelector("svg")?.append(probe);
    const colours = INKS.map((ink) => {
      probe.setAttribute("class", `f-${ink}`);
      return [ink, getComputedStyle(probe).fill];
    });
    probe.remove();
    return Object.fromEntries(colours) as Palette;
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("data")) this.active = undefined;
    const { data, width } = this;
    this.#drawing =
      width > 0
        ? draw({ ...data, spec: { ...data.spec, brush: this.#brush } }, width, measureText)
        : undefined;
  }

  /** The brush that is being drawn, or the one of the chart. */
  get #brush(): Brush | undefined {
    const { data, draft } = this;
    return draft ? brushOf(data, draft.positions, draft.crossPositions) : data.spec.brush;
  }

  protected override render() {
    const drawing = this.#drawing;
    if (drawing === undefined) return html`<div class="chart"></div>`;
    const stop = this.#stop;
    return html`<div
        class="chart ${drawing.direction}"
        role="application"
        aria-roledescription="chart"
        aria-label=${this.name}
        aria-describedby="summary keys"
        tabindex="0"
        @keydown=${this.#onKey}
        @blur=${this.#leave}
        @pointerdown=${this.#onDown}
        @pointermove=${this.#onMove}
        @pointerup=${this.#onUp}
        @pointercancel=${this.#onCancel}
        @pointerleave=${this.#onLeave}
        @dblclick=${() => this.#applyBrush(undefined)}
      >
        <svg
          aria-hidden="true"
          width=${drawing.width}
          height=${drawing.height}
          viewBox="0 0 ${drawing.width} ${drawing.height}"
        >
          ${drawing.shapes.map(shapeTemplate)} ${this.#renderBrush(drawing)}
          ${stop === undefined ? nothing : this.#renderStop(drawing, stop)}
        </svg>
        ${stop === undefined ? nothing : this.#renderTip(drawing, stop)}
      </div>
      <p id="summary" class="unseen">${this.summary}</p>
      <p id="keys" class="unseen">
        Arrow keys move between values, Shift with arrow keys selects, Enter applies, Escape clears.
      </p>
      <div class="unseen" aria-live="polite">${this.#announcement}</div>`;
  }

  protected override updated(): void {
    const tip = this.renderRoot.querySelector<HTMLElement>(".tip");
    const [drawing, stop] = [this.#drawing, this.#stop];
    if (tip === null || drawing === undefined || stop === undefined) return;
    const { offsetWidth, offsetHeight } = tip;
    const isLeft = stop.x + 14 + offsetWidth > drawing.width;
    const x = isLeft ? stop.x - 14 - offsetWidth : stop.x + 14;
    // The tooltip is at the bottom for values in the upper half, so that it covers little of the line.
    const { top, bottom } = drawing.plot;
    const isAcross = drawing.direction === "across" && drawing.crossSpans === undefined;
    const edge = stop.y < (top + bottom) / 2 ? bottom - offsetHeight - 6 : top;
    const beside = Math.min(Math.max(0, stop.y - offsetHeight / 2), drawing.height - offsetHeight);
    const y = isAcross ? edge : beside;
    tip.style.transform = `translate(${Math.max(0, Math.round(x))}px, ${Math.round(y)}px)`;
  }

  get #stop(): Stop | undefined {
    return this.active === undefined ? undefined : this.#drawing?.stops[this.active];
  }

  get #announcement(): string {
    const stop = this.#stop;
    if (stop === undefined || !this.matches(":focus-within")) return "";
    const name = stop.name === "" ? "" : `${stop.name}: `;
    const marked = this.draft ? ". Selected; Enter applies" : "";
    return `${stop.title}: ${name}${stop.text}${rowsOf(stop)}${marked}`;
  }

  #renderBrush(drawing: Drawing) {
    const marked = markedBy(this.data, this.#brush);
    if (marked === undefined || marked.positions.size === 0) return nothing;
    const { plot, direction, spans, crossSpans } = drawing;
    const [from, to] = reach(spans, marked.positions);
    const crossPosition =
      crossSpans && marked.crossPositions ? reach(crossSpans, marked.crossPositions) : undefined;
    const [low, high] =
      crossPosition ?? (direction === "across" ? [plot.top - 4, plot.bottom] : [0, 0]);
    const d =
      direction === "across"
        ? rect(from, low, to, high)
        : rect(1, from + 1, drawing.width - 1, to - 1);
    return svg`<path class="brush" d=${d} />`;
  }

  #renderStop({ plot, crossSpans, direction }: Drawing, { x, y, ink }: Stop) {
    const hasLine = direction === "across" && crossSpans === undefined;
    return svg`
      ${hasLine ? svg`<path class="guide" d="M${x} ${plot.top - 4}V${plot.bottom}" />` : nothing}
      <circle class="halo f-${ink}" cx=${x} cy=${y} r="4.5" />`;
  }

  #renderTip({ stops, crossSpans }: Drawing, stop: Stop) {
    const isAlone = crossSpans !== undefined;
    const all = isAlone ? [stop] : stops.filter(({ position }) => position === stop.position);
    return html`<div class="tip" aria-hidden="true">
      <div class="tip-title">${stop.title}</div>
      ${all.map(
        (each) => html`<div class="tip-line ${each === stop && all.length > 1 ? "current" : ""}">
          ${
            each.name === "" || isAlone
              ? nothing
              : html`<svg width="10" height="10"><path class="f-${each.ink}" d="M0 0h10v10H0Z" /></svg>`
          }
          ${each.name === "" ? nothing : html`<span class="tip-name">${each.name}</span>`}
          <span class="tip-value">${each.text}</span>
          <span class="tip-rows">${rowsOf(each).replace(/^, /, "")}</span>
        </div>`,
      )}
    </div>`;
  }

  #onKey(event: KeyboardEvent): void {
    const drawing = this.#drawing;
    if (drawing === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.#act(drawing, event.key, event.shiftKey)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Handles a key; returns whether it has a function here. */
  #act(drawing: Drawing, key: string, isMarking: boolean): boolean {
    const { direction, stops, spans } = drawing;
    const [back, forth, less, more] =
      direction === "across"
        ? ["ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp"]
        : ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
    if (key === "Escape") {
      if (this.draft === undefined && this.data.spec.brush === undefined) return false;
      this.#applyBrush(undefined);
      return true;
    }
    if (key === "Enter" || key === " ") {
      const stop = this.#stop;
      if (this.draft === undefined && stop !== undefined) this.#mark(stop, stop);
      if (this.draft !== undefined) this.#applyBrush(this.#brush);
      return true;
    }
    const last = stops.length - 1;
    if (last < 0) return false;
    const { active } = this;
    const stop = active === undefined ? undefined : stops[active];
    const step = key === forth || key === more ? 1 : -1;
    if (key === "Home") this.active = 0;
    else if (key === "End") this.active = last;
    else if (key === back || key === forth) {
      if (stop === undefined) this.active = 0;
      else if (drawing.crossSpans !== undefined && this.data.dots !== undefined && !isMarking) {
        this.active = clamp((active ?? 0) + step, last);
      } else this.active = this.#adjacentStop(stops, stop, step, spans.length) ?? active;
    } else if (key === less || key === more) {
      if (stop === undefined) this.active = 0;
      else {
        const next = clamp((active ?? 0) + step, last);
        if (stops[next]?.position === stop.position) this.active = next;
      }
    } else return false;
    const now = this.#stop;
    if (!isMarking) this.draft = undefined;
    else if (now !== undefined)
      this.#mark(this.draft === undefined ? (stop ?? now) : undefined, now);
    return true;
  }

  /** The stop at the next position that has any: of the same series, or the nearest one. */
  #adjacentStop(
    stops: readonly Stop[],
    stop: Stop,
    step: number,
    numPositions: number,
  ): number | undefined {
    for (
      let position = stop.position + step;
      position >= 0 && position < numPositions;
      position += step
    ) {
      const there = stops.flatMap((each, index) => (each.position === position ? [index] : []));
      if (there.length === 0) continue;
      const same = there.find((index) => stops[index]?.name === stop.name);
      if (same !== undefined && stop.crossPosition === undefined) return same;
      const distance = (index: number) => Math.abs((stops[index]?.y ?? 0) - stop.y);
      return there.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    }
    return undefined;
  }

  /** Brushes from a stop, or from where the brush began, to another stop. */
  #mark(from: Stop | undefined, to: Stop): void {
    const start = from?.position ?? this.draft?.positions[0] ?? to.position;
    const crossPosition =
      from?.crossPosition ?? this.draft?.crossPositions?.[0] ?? to.crossPosition;
    this.draft = {
      positions: [start, to.position],
      crossPositions:
        crossPosition === undefined || to.crossPosition === undefined
          ? undefined
          : [crossPosition, to.crossPosition],
    };
  }

  #leave(): void {
    this.active = undefined;
    this.draft = undefined;
  }

  #onDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    const { x, y, position, crossPosition } = this.#at(event);
    if (position === undefined) return;
    this.#press = { x, y, position, crossPosition, isDrag: false };
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
  }

  #onMove(event: PointerEvent): void {
    const press = this.#press;
    const { x, y, position, crossPosition } = this.#at(event);
    this.active = this.#nearest(x, y, position);
    if (press === undefined || position === undefined) return;
    if (Math.hypot(x - press.x, y - press.y) >= CLICK_PX) press.isDrag = true;
    if (!press.isDrag) return;
    const crossPositions =
      press.crossPosition === undefined || crossPosition === undefined
        ? undefined
        : ([press.crossPosition, crossPosition] as const);
    this.draft = { positions: [press.position, position], crossPositions };
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.#dispatchBrush(this.#brush), REST_MS);
  }

  #onUp(event: PointerEvent): void {
    const press = this.#press;
    this.#press = undefined;
    if (press === undefined) return;
    if (press.isDrag) {
      this.#applyBrush(this.#brush);
      return;
    }
    const isMarked =
      markedBy(this.data, this.data.spec.brush)?.positions.has(press.position) ?? false;
    // A click on a bar selects its category; a click beside the brush of a range clears it.
    const isCategory = this.#drawing?.direction === "down";
    if (isCategory && !isMarked && event.detail < 2) {
      this.#applyBrush(brushOf(this.data, [press.position, press.position], undefined));
    } else if (this.data.spec.brush !== undefined && (isCategory || !isMarked))
      this.#applyBrush(undefined);
  }

  #onCancel(): void {
    this.#press = undefined;
    this.draft = undefined;
    clearTimeout(this.#rest);
  }

  #onLeave(): void {
    if (this.#press === undefined && !this.matches(":focus-within")) this.active = undefined;
  }

  #at(event: PointerEvent) {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const drawing = this.#drawing;
    if (drawing === undefined) return { x, y, position: undefined, crossPosition: undefined };
    const along = drawing.direction === "across" ? x : y;
    return {
      x,
      y,
      position: spanAt(drawing.spans, along),
      crossPosition: drawing.crossSpans && spanAt(drawing.crossSpans, y),
    };
  }

  #nearest(x: number, y: number, position: number | undefined): number | undefined {
    const drawing = this.#drawing;
    if (drawing === undefined) return undefined;
    const { stops, crossSpans, direction } = drawing;
    let [best, least] = [undefined as number | undefined, Number.POSITIVE_INFINITY];
    for (const [index, stop] of stops.entries()) {
      if (crossSpans === undefined && stop.position !== position) continue;
      const across = crossSpans === undefined && direction === "across" ? 0 : stop.x - x;
      const down = crossSpans === undefined && direction === "down" ? 0 : stop.y - y;
      const distance = Math.hypot(across, down);
      if (distance < least) [best, least] = [index, distance];
    }
    return crossSpans !== undefined && least > NEAR_PX ? undefined : best;
  }

  #applyBrush(brush: Brush | undefined): void {
    clearTimeout(this.#rest);
    this.#dispatchBrush(brush);
    this.draft = undefined;
  }

  #dispatchBrush(brush: Brush | undefined): void {
    this.dispatchEvent(new CustomEvent("figure-brush", { detail: brush }));
  }
}

function shapeTemplate(shape: Shape) {
  if ("text" in shape) {
    return svg`<text class="f-${shape.ink}" x=${shape.x} y=${shape.y} text-anchor=${shape.anchor} font-size=${shape.sizePx}>${shape.text}</text>`;
  }
  const { fill, stroke, widthPx, opacity, dash } = shape;
  const classes = `${fill ? `f-${fill}` : "f-none"}${stroke ? ` s-${stroke}` : ""}`;
  return svg`<path class=${classes} d=${shape.d} stroke-width=${widthPx ?? nothing} opacity=${opacity ?? nothing} stroke-dasharray=${dash ?? nothing} />`;
}

function rowsOf({ text, numRows }: Stop): string {
  const rows = formatRows(numRows);
  return rows === text || rows.startsWith(`${text} row`) || numRows === 1 ? "" : `, ${rows}`;
}

function reach(spans: readonly Span[], marked: ReadonlySet<number>): Span {
  const ends = [...marked].flatMap((index) => spans[index] ?? []);
  return [Math.min(...ends), Math.max(...ends)];
}

/** The index of the span at a pixel; beyond the ends the nearest one. */
function spanAt(spans: readonly Span[], px: number): number | undefined {
  if (spans.length === 0) return undefined;
  const within = spans.findIndex(([a, b]) => px >= Math.min(a, b) && px < Math.max(a, b));
  if (within >= 0) return within;
  const [first] = spans;
  const last = spans.at(-1);
  const toFirst = Math.abs(px - ((first?.[0] ?? 0) + (first?.[1] ?? 0)) / 2);
  const toLast = Math.abs(px - ((last?.[0] ?? 0) + (last?.[1] ?? 0)) / 2);
  return toFirst <= toLast ? 0 : spans.length - 1;
}

function clamp(index: number, last: number): number {
  return Math.max(0, Math.min(index, last));
}
