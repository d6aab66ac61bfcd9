import type { Predicate } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { conjunction, filterKey, withoutBrushes } from "./brush-filters.js";
import { ChartCard } from "./chart-card.js";
import { ChartFigure } from "./chart-figure.js";
import { ChartLoader } from "./chart-loader.js";
import { panelStyles } from "./chart-panel-styles.js";
import {
  brushPredicate,
  type ChartSpec,
  decodeState,
  encodeState,
  fitToFields,
  MAX_CHARTS,
  suggestions,
} from "./chart-spec.js";
import type { ChartField } from "./fields.js";
import { findGroupingColumn } from "./grouping-column.js";
import type { ChartSource } from "./predicate-sql.js";

/** The number of suggested charts that a new panel shows. */
const NUM_FIRST = 2;

interface Entry {
  id: number;
  spec: ChartSpec;
}

/**
 * Charts of a table or a statement's rows, aggregated by the server. A brush in one chart filters the
 * table and the other charts.
 *
 * @fires chart-filter - detail: the table's filter with all brushes, or null
 * @fires chart-state - detail: the state
 * @fires chart-close - when the panel is to be closed
 */
export class ChartPanel extends LitElement {
  static override styles = panelStyles;
  static override properties: PropertyDeclarations = {
    source: { attribute: false },
    fields: { attribute: false },
    filter: { attribute: false },
    state: { attribute: false, noAccessor: true },
    entries: { state: true },
    isSuggesting: { state: true },
  };

  /** The source of the rows; a new object means new rows, even if the name is the same. */
  declare source: ChartSource | undefined;
  declare fields: readonly ChartField[];
  /** The table's filter, including the predicates of brushes. */
  declare filter: Predicate | null | undefined;
  declare entries: readonly Entry[];
  /** Whether the charts to suggest are being looked for. */
  declare isSuggesting: boolean;
  /** The column by which suggested charts group the rows, if it is known. */
  #grouping: string | undefined;
  #suggesting: AbortController | undefined;
  readonly #loader = new ChartLoader();
  #nextId = 0;
  #own: Predicate | null = null;
  /** Keys of the reported filters that the viewer has not yet applied, the latest last. */
  #reportedFilters: string[] = [];
  #state = "";
  #isStateNew = true;

  constructor() {
    super();
    this.fields = [];
    this.entries = [];
    this.isSuggesting = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#suggesting?.abort();
  }

  /** The encoded charts with their brushes; the empty text for the suggested charts. */
  get state(): string {
    return this.#state;
  }
  set state(state: string) {
    if (state === this.#state) return;
    this.#state = state;
    this.#isStateNew = true;
    this.requestUpdate();
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("source")) {
      this.#loader.clearCache();
      this.#reportedFilters = [];
      this.#isStateNew = true;
    }
    if (this.source === undefined) return;
    if (this.#isStateNew) this.#restore(this.source);
    else if (changed.has("filter")) this.#onFilter();
  }

  protected override render() {
    const { source, fields, entries } = this;
    if (source === undefined) return nothing;
    const next = this.isSuggesting ? undefined : this.#suggested();
    return html`<header>
        <h2>Charts</h2>
        ${
          entries.some(({ spec }) => spec.brush)
            ? html`<button @click=${this.#clear}>Clear all selections</button>`
            : nothing
        }
        <button aria-disabled=${next === undefined} @click=${() => this.#add(next)}>Add chart</button>
        <button
          class="close"
          aria-label="Close charts"
          title="Close charts"
          @click=${() => this.dispatchEvent(new CustomEvent("chart-close"))}
        >
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="m4 4 8 8m0-8-8 8" /></svg>
        </button>
      </header>
      ${
        entries.length > 0
          ? nothing
          : html`<p class="note">
              ${
                this.isSuggesting
                  ? "Loading columns…"
                  : next === undefined
                    ? "None of these columns can be charted. Charts need numbers, times or texts."
                    : "No charts. Add a chart of these rows."
              }
            </p>`
      }
      ${repeat(
        entries,
        ({ id }) => id,
        ({ id, spec }) => html`<chart-card
          .loader=${this.#loader}
          .source=${source}
          .fields=${fields}
          .spec=${spec}
          .base=${this.#own}
          .filter=${this.#filterFor(id)}
          @card-spec=${(event: CustomEvent<ChartSpec>) => this.#change(id, event.detail)}
          @card-remove=${() => this.#remove(id)}
        ></chart-card>`,
      )}`;
  }

  /** Shows the charts of the state, or the suggested ones. */
  #restore(source: ChartSource): void {
    this.#isStateNew = false;
    this.#suggesting?.abort();
    this.#grouping = undefined;
    this.isSuggesting = this.#state === "";
    if (this.isSuggesting) void this.#suggest(source);
    else
      this.#show(decodeState(this.#state).flatMap((spec) => fitToFields(spec, this.fields) ?? []));
  }

  async #suggest(source: ChartSource): Promise<void> {
    const suggesting = new AbortController();
    this.#suggesting = suggesting;
    this.entries = [];
    const grouping = await findGroupingColumn(source, this.fields, suggesting.signal);
    if (suggesting.signal.aborted) return;
    this.#grouping = grouping;
    this.isSuggesting = false;
    this.#show(suggestions(this.fields, grouping).slice(0, NUM_FIRST));
  }

  #show(specs: readonly ChartSpec[]): void {
    this.entries = specs.map((spec) => ({ id: this.#nextId++, spec }));
    this.#own = withoutBrushes(this.filter ?? null, this.#brushes()).own;
    // Report in a microtask, after the code that set the state has finished.
    queueMicrotask(() => this.#report());
  }

  /** Applies a filter that the user changed in the viewer; removes brushes that it lacks. */
  #onFilter(): void {
    const filter = this.filter ?? null;
    const index = this.#reportedFilters.lastIndexOf(filterKey(filter));
    if (index >= 0) {
      this.#reportedFilters.splice(0, index + 1);
      return;
    }
    this.#reportedFilters = [];
    const before = this.#brushes();
    const { own, missing } = withoutBrushes(filter, before);
    this.#own = own;
    if (missing.size === 0) return;
    this.entries = this.entries.map((entry, index) =>
      missing.has(index) ? { ...entry, spec: { ...entry.spec, brush: undefined } } : entry,
    );
    // The rest of a removed brush must not become part of the table's own filter.
    this.#own = withoutBrushes(
      filter,
      before.map((brush) => brush && partsIn(brush, filter)),
    ).own;
    queueMicrotask(() => this.#report());
  }

  #brushes(): (Predicate | undefined)[] {
    return this.entries.map(({ spec }) => brushPredicate(spec, this.fields));
  }

  /** The table's own filter with the brushes of all other charts. */
  #filterFor(id: number): Predicate | null {
    const others = this.entries.filter((entry) => entry.id !== id);
    return conjunction([this.#own, ...others.map(({ spec }) => brushPredicate(spec, this.fields))]);
  }

  #change(id: number, spec: ChartSpec): void {
    this.entries = this.entries.map((entry) => (entry.id === id ? { id, spec } : entry));
    this.#report();
  }

  #remove(id: number): void {
    this.entries = this.entries.filter((entry) => entry.id !== id);
    this.#report();
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>("header button")?.focus(),
    );
  }

  #add(spec: ChartSpec | undefined): void {
    if (spec === undefined) return;
    const id = this.#nextId++;
    this.entries = [...this.entries, { id, spec }];
    this.#report();
    void this.updateComplete.then(() => {
      const card = [...this.renderRoot.querySelectorAll<ChartCard>("chart-card")].at(-1);
      card?.scrollIntoView({ block: "nearest" });
      card?.renderRoot.querySelector("select")?.focus();
    });
  }

  readonly #clear = () => {
    this.entries = this.entries.map(({ id, spec }) => ({
      id,
      spec: { ...spec, brush: undefined },
    }));
    this.#report();
  };

  /** The next suggested chart: the first of a kind that is not shown yet. */
  #suggested(): ChartSpec | undefined {
    if (this.entries.length >= MAX_CHARTS) return undefined;
    const all = suggestions(this.fields, this.#grouping);
    return all.find(({ kind }) => !this.entries.some(({ spec }) => spec.kind === kind)) ?? all[0];
  }

  /** Dispatches events for a changed state and a changed filter. */
  #report(): void {
    const state = encodeState(this.entries.map(({ spec }) => spec)) || "[]";
    if (state !== this.#state) {
      this.#state = state;
      this.dispatchEvent(new CustomEvent("chart-state", { detail: state }));
    }
    const filter = conjunction([this.#own, ...this.#brushes()]);
    const key = filterKey(filter);
    if (key === (this.#reportedFilters.at(-1) ?? filterKey(this.filter ?? null))) return;
    this.#reportedFilters.push(key);
    this.dispatchEvent(new CustomEvent("chart-filter", { detail: filter }));
  }
}

/** The conjuncts of a brush that a filter contains. */
function partsIn(brush: Predicate, filter: Predicate | null): Predicate | undefined {
  const parts = "and" in brush ? brush.and : [brush];
  const there = parts.filter((part) => withoutBrushes(filter, [part]).missing.size === 0);
  return conjunction(there) ?? undefined;
}

for (const [name, element] of [
  ["chart-figure", ChartFigure],
  ["chart-card", ChartCard],
  ["chart-panel", ChartPanel],
] as const) {
  if (customElements.get(name) === undefined) customElements.define(name, element);
}
