import { ColonnadeError, type Predicate } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { isCancelled } from "../server/requests.js";
import { filterKey } from "./brush-filters.js";
import { cardStyles } from "./chart-card-styles.js";
import { controls } from "./chart-controls.js";
import { type ChartFigure, measureText } from "./chart-figure.js";
import type { ChartData, ChartLoader } from "./chart-loader.js";
import type { Brush, ChartSpec } from "./chart-spec.js";
import { fileNameOf, summaryOf, tableOf, titleOf } from "./chart-text.js";
import { draw, drawAlone } from "./draw.js";
import type { ChartField } from "./fields.js";
import { pngBlob, saveFile, svgText } from "./image-files.js";
import { exactNumber } from "./labels.js";
import type { ChartSource } from "./predicate-sql.js";

/** Changes within this time cause one load, in ms. */
const DEBOUNCE_MS = 120;
/** After this time a load can be cancelled by a button, in ms. */
const SLOW_MS = 800;

type Phase = "waiting" | "loading" | "slow" | "ready" | "failed" | "cancelled";

/**
 * One chart: its controls, its drawing or table, and its summary.
 *
 * @fires card-spec - detail: the requested chart
 * @fires card-remove - when the chart is to be removed
 */
export class ChartCard extends LitElement {
  static override styles = cardStyles;
  static override properties: PropertyDeclarations = {
    loader: { attribute: false },
    source: { attribute: false },
    fields: { attribute: false },
    spec: { attribute: false },
    base: { attribute: false },
    filter: { attribute: false },
    data: { state: true },
    phase: { state: true },
    error: { state: true },
    isTable: { state: true },
  };

  declare loader: ChartLoader;
  declare source: ChartSource;
  declare fields: readonly ChartField[];
  declare spec: ChartSpec;
  /** The table's own filter. */
  declare base: Predicate | null;
  /** The table's own filter and the brushes of the other charts. */
  declare filter: Predicate | null;
  declare data: ChartData | undefined;
  declare phase: Phase;
  declare error: ColonnadeError | undefined;
  declare isTable: boolean;
  #wanted = "";
  #loadedFrom: ChartSource | undefined;
  #work: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.base = null;
    this.filter = null;
    this.phase = "waiting";
    this.isTable = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.#schedule();
  }

  protected override willUpdate(): void {
    const { brush: _, ...spec } = this.spec;
    const wanted = JSON.stringify([spec, filterKey(this.base), filterKey(this.filter)]);
    if (wanted === this.#wanted && this.source === this.#loadedFrom) {
      if (this.data !== undefined && this.data.spec.brush !== this.spec.brush) {
        this.data = { ...this.data, spec: this.spec };
      }
      return;
    }
    if (this.source !== this.#loadedFrom) this.data = undefined;
    this.#wanted = wanted;
    this.#loadedFrom = this.source;
    this.#schedule();
  }

  protected override render() {
    const { spec, data, phase } = this;
    const title = titleOf(spec);
    const isBusy = phase === "waiting" || phase === "loading" || phase === "slow";
    const drawing = data && draw(data, 400, () => 0);
    const isEmpty = data !== undefined && (drawing === undefined || drawing.stops.length === 0);
    const hasPicture = data !== undefined && !isEmpty;
    return html`<section aria-label=${title} aria-busy=${isBusy}>
      <header>
        <h3 title=${title}>${title}</h3>
        <button
          aria-pressed=${this.isTable}
          title="Show the values as a table"
          @click=${() => {
            this.isTable = !this.isTable;
          }}
        >
          Table
        </button>
        <button title="Save the chart as PNG" aria-disabled=${!hasPicture} @click=${() => this.#save("png")}>
          PNG
        </button>
        <button title="Save the chart as SVG" aria-disabled=${!hasPicture} @click=${() => this.#save("svg")}>
          SVG
        </button>
        <button
          class="close"
          aria-label=${`Remove chart ${title}`}
          title="Remove"
          @click=${() => this.dispatchEvent(new CustomEvent("card-remove"))}
        >
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d="m4 4 8 8m0-8-8 8" /></svg>
        </button>
      </header>
      ${controls(spec, this.fields, (next) => this.#dispatchSpec(next))}
      <div class="stage ${isBusy && data ? "stale" : ""}">
        ${isBusy ? html`<div class="busy"></div>` : nothing} ${this.#renderState(isEmpty)}
        ${hasPicture && phase !== "failed" ? this.#renderData(data, title) : nothing}
      </div>
    </section>`;
  }

  #renderState(isEmpty: boolean) {
    const { phase, error, data } = this;
    switch (phase) {
      case "failed":
        return html`<div class="note" role="alert">
          <p class="error">${error?.message}</p>
          ${error?.hint ? html`<p>${error.hint}</p>` : nothing}
          <button @click=${this.#retry}>Retry</button>
        </div>`;
      case "cancelled":
        return html`<div class="note">
          <p>Cancelled.</p>
          <button @click=${this.#retry}>Load again</button>
        </div>`;
      case "slow":
        return html`<div class="note slow">
          <p>Loading…</p>
          <button @click=${this.#cancel}>Cancel</button>
        </div>`;
      case "ready":
        if (!isEmpty) return nothing;
        return html`<div class="note">
          <p>${this.filter === null ? "These columns have no values to show." : "No rows match the filter."}</p>
        </div>`;
      default:
        return data === undefined ? html`<div class="note empty"></div>` : nothing;
    }
  }

  #renderData(data: ChartData, title: string) {
    const drawing = draw(data, 400, () => 0);
    const summary = drawing ? summaryOf(data, drawing) : "";
    return html`${
      this.isTable
        ? renderTable(data, title)
        : html`<chart-figure
            .data=${data}
            .name=${title}
            .summary=${summary}
            @figure-brush=${({ detail }: CustomEvent<Brush | null>) =>
              this.#dispatchSpec({ ...this.spec, brush: detail ?? undefined })}
          ></chart-figure>`
    }
    <p class="summary">${summary}</p>
    ${this.#notes(data).map((note) => html`<p class="summary">${note}</p>`)}
    ${
      this.spec.brush === undefined
        ? nothing
        : html`<button class="clear" @click=${() => this.#dispatchSpec({ ...this.spec, brush: undefined })}>
            Clear selection
          </button>`
    }`;
  }

  #notes(data: ChartData): string[] {
    const { categories, group } = data;
    const notes = [...data.notes];
    if (categories?.hasOthers)
      notes.push(
        `Shows the ${categories.values.length} most frequent values; “others” are all other values.`,
      );
    if (group?.hasOthers)
      notes.push(`Colours show the ${group.values.length} most frequent values.`);
    return notes;
  }

  /** Loads once there was no change for a moment. */
  #schedule(): void {
    this.#stop();
    this.phase = "waiting";
    this.#timer = setTimeout(() => void this.#load(), DEBOUNCE_MS);
  }

  async #load(): Promise<void> {
    const work = new AbortController();
    this.#work = work;
    this.phase = "loading";
    this.#timer = setTimeout(() => {
      this.phase = "slow";
    }, SLOW_MS);
    const { source, fields, spec, base, filter } = this;
    try {
      const data = await this.loader.load({ source, fields, spec, base, filter }, work.signal);
      if (work !== this.#work) return;
      this.data = { ...data, spec: this.spec };
      this.error = undefined;
      this.phase = "ready";
    } catch (thrown) {
      if (work !== this.#work) return;
      if (isCancelled(thrown)) this.phase = "cancelled";
      else {
        this.error = ColonnadeError.from(thrown, "chart_failed");
        this.phase = "failed";
      }
    }
    clearTimeout(this.#timer);
    this.#work = undefined;
  }

  readonly #retry = () => this.#schedule();

  readonly #cancel = () => {
    this.#stop();
    this.phase = "cancelled";
  };

  #stop(): void {
    clearTimeout(this.#timer);
    const work = this.#work;
    this.#work = undefined;
    work?.abort();
  }

  #dispatchSpec(spec: ChartSpec): void {
    this.dispatchEvent(new CustomEvent("card-spec", { detail: spec }));
  }

  async #save(kind: "png" | "svg"): Promise<void> {
    const { data, spec } = this;
    if (data === undefined) return;
    const isTable = this.isTable;
    this.isTable = false;
    await this.updateComplete;
    const figure = this.renderRoot.querySelector<ChartFigure>("chart-figure");
    await figure?.updateComplete;
    const palette = figure?.palette;
    this.isTable = isTable;
    const scene = drawAlone(data, titleOf(spec), 720, measureText);
    if (palette === undefined || scene === undefined) return;
    const blob =
      kind === "png"
        ? await pngBlob(scene, palette)
        : new Blob([svgText(scene, titleOf(spec), palette)], { type: "image/svg+xml" });
    saveFile(blob, fileNameOf("table" in this.source ? this.source.table : "query", spec, kind));
  }
}

function renderTable(data: ChartData, title: string) {
  const { headers, rows, numNames } = tableOf(data);
  return html`<div class="table" tabindex="0" role="region" aria-label=${`Values of ${title}`}>
    <table>
      <thead>
        <tr>${headers.map((header) => html`<th scope="col">${header}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first, ...others]) => html`<tr>
            <th scope="row">${first}</th>
            ${others.map((text, at) => html`<td>${at + 1 < numNames ? text : exactNumber(text)}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
