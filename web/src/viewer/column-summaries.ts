import type { Grid } from "../grid/grid.js";
import type { ColumnSummary } from "../grid/summary-plot.js";
import { ColonnadeError } from "../model/errors.js";
import type { Predicate } from "../model/predicate.js";
import { distinctFields, type Field } from "../model/schema.js";
import type { Summary } from "../model/summary.js";
import type { ArrangedRows, Arranger } from "./arranger.js";
import { withConjuncts } from "./filters.js";
import { columnSummary, conjunctsOfBins, SummaryPlot } from "./summary-words.js";

export { summaryStyles as styles } from "../grid/summary-styles.js";

/** Text columns with more distinct values get no frequent values, to save the memory for counting. */
const MAX_COUNTED = 1 << 16;
/** While rows arrive, a column is summarised again after this time at the earliest. */
const REFRESH_MS = 500;
/** While rows arrive, the pause is 9 times the work, so summaries take at most a tenth of the time. */
const REST_SHARE = 9;

/** The viewer of the summaries. */
export interface SummariesHost {
  filter: Predicate | null;
}

/** A summary, and the number of rows that it covers. */
interface Known {
  /** Infinite for the server's summary of all rows. */
  numRows: number;
  /** Undefined if it could not be made. */
  summary: Summary | undefined;
}

/** Summarises the visible columns, one at a time, and again as rows arrive. */
export class ColumnSummaries {
  readonly #host: SummariesHost;
  readonly #grid: Grid;
  readonly #arranger: Arranger;
  #table: ArrangedRows["table"] | undefined;
  #view: ArrangedRows["view"];
  #ofTable = new Map<Field, Known>();
  #ofView = new Map<Field, Known>();
  #work: AbortController | undefined;
  #restUntilMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: SummariesHost, grid: Grid, arranger: Arranger) {
    this.#host = host;
    this.#grid = grid;
    this.#arranger = arranger;
    grid.summaries.callbacks = {
      onChoose: (field, first, last) => {
        const summary = this.#ofTable.get(field)?.summary;
        const distinct = this.#distinct(field);
        if (summary !== undefined) {
          this.#filter(distinct, conjunctsOfBins(summary, distinct, first, last));
        }
      },
      onClear: (field) => this.#filter(this.#distinct(field), []),
      onSight: () => this.follow(),
    };
  }

  /** Call it when the rows, the visible columns or the filter may have changed. */
  follow(): void {
    const { shown: rows, applied } = this.#arranger;
    // A view that is only sorted has the same rows as its table.
    const view = applied.filter === null ? undefined : rows?.view;
    if (rows?.table !== this.#table || view !== this.#view) {
      this.stop();
      if (rows?.table !== this.#table) this.#ofTable = new Map();
      this.#ofView = new Map();
      this.#table = rows?.table;
      this.#view = view;
      this.#restUntilMs = 0;
    }
    if (this.#grid.summaries.isShown) {
      this.#draw();
      void this.#summarise();
    } else this.stop();
  }

  /** Stops the running summary. */
  stop(): void {
    this.#work?.abort();
    this.#work = undefined;
  }

  #filter({ name }: Field, conjuncts: readonly Predicate[]): void {
    const { filter } = this.#arranger.arrangement;
    this.#host.filter = withConjuncts(filter, name, conjuncts);
  }

  /** The field with its distinct name. */
  #distinct(field: Field): Field {
    const fields = this.#table?.schema.fields ?? [];
    return distinctFields(fields)[fields.indexOf(field)] ?? field;
  }

  #draw(): void {
    const { filter } = this.#arranger.arrangement;
    const drawn = new Map<Field, ColumnSummary>();
    const isGrowing = this.#isGrowing;
    for (const [field, { summary }] of this.#ofTable) {
      const within = this.#ofView.get(field)?.summary;
      if (summary === undefined || summary.rows === 0) continue;
      const subject = { field: this.#distinct(field), summary, within, filter, isGrowing };
      drawn.set(field, columnSummary(subject));
    }
    this.#grid.summaries.draw(drawn, SummaryPlot);
  }

  get #isGrowing(): boolean {
    const table = this.#table;
    return table?.state === "streaming" && table.paused === undefined;
  }

  /** Summarises visible columns without a summary first, then those whose summary covers fewer rows. */
  async #summarise(): Promise<void> {
    const next = this.#work === undefined ? this.#next() : undefined;
    if (next === undefined) return;
    const restMs = this.#isGrowing ? this.#restUntilMs - performance.now() : 0;
    clearTimeout(this.#timer);
    if (restMs > 0) {
      this.#timer = setTimeout(() => this.follow(), restMs);
      return;
    }
    const work = new AbortController();
    this.#work = work;
    const startMs = performance.now();
    const { field, rows, known, numRows } = next;
    const isAgain = known.has(field);
    try {
      const options = { signal: work.signal, maxCounted: MAX_COUNTED, isBackground: true };
      const summary = await rows.summary(this.#distinct(field).name, options);
      known.set(field, { numRows, summary });
    } catch (thrown) {
      if (ColonnadeError.from(thrown, "").code === "cancelled") return;
      known.set(field, { numRows, summary: known.get(field)?.summary });
    } finally {
      if (this.#work === work) this.#work = undefined;
    }
    if (work.signal.aborted) return;
    const nowMs = performance.now();
    const restsMs = REST_SHARE * (nowMs - startMs);
    this.#restUntilMs = nowMs + (isAgain ? Math.max(REFRESH_MS, restsMs) : restsMs);
    this.follow();
  }

  #next() {
    const [table, view] = [this.#table, this.#view];
    if (table === undefined || table.numRows === 0) return undefined;
    const { fields } = table.schema;
    const isNamed = (field: Field) => fields.find(({ name }) => name === field.name) !== undefined;
    const inSight = this.#grid.summaries.fieldsInSight.filter(isNamed);
    const numRows = table.state === "windowed" ? Number.POSITIVE_INFINITY : table.numRows;
    const numKnown = (field: Field) => this.#ofTable.get(field)?.numRows ?? -1;
    const [field] = inSight
      .filter((each) => numKnown(each) < numRows)
      .sort((a, b) => numKnown(a) - numKnown(b));
    if (field !== undefined) return { field, rows: table, known: this.#ofTable, numRows };
    const unviewed = view && inSight.find((each) => !this.#ofView.has(each));
    if (view === undefined || unviewed === undefined) return undefined;
    return { field: unviewed, rows: view, known: this.#ofView, numRows };
  }
}
