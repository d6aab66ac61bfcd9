import { ColonnadeError, type Field, type Predicate, type Summary } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { type CatalogTable, leftOutText } from "../catalog/catalog.js";
import { QueryResult } from "../server/query-result.js";
import { fetchJson, isCancelled } from "../server/requests.js";
import { Semaphore } from "../server/semaphore.js";
import { formatBytes, formatCount, formatRows } from "../text/format.js";
import { quoteNameIfNeeded } from "../text/quote.js";
import { copyButton } from "../ui/copy-button.js";
import { errorAlert } from "../ui/error-alert.js";
import { columnsTable } from "./columns-table.js";
import { type ParquetMetadata, parquetMetadata } from "./parquet-metadata.js";

/** The largest number of summaries that are requested at once. */
const MAX_SUMMARIES = 2;
/** Tables with more rows are summarised only if the user requests it. */
const MAX_ROWS_AUTOMATIC = 50_000_000;
/** The number of first rows whose values are shown. */
const SAMPLE_ROWS = 5;

/**
 * The details of a table: its columns with their metadata and summaries, a few rows, and how it is
 * stored. Summaries and rows are those that pass the filter of the shown rows, unless the user wants all.
 */
export class TableDetails extends LitElement {
  static override properties: PropertyDeclarations = {
    name: { attribute: false },
    table: { attribute: false },
    filter: { attribute: false },
    isWhole: { state: true },
    fields: { state: true },
    sample: { state: true },
    summaries: { state: true },
    parquet: { state: true },
    error: { state: true },
    isRequested: { state: true },
  };

  /** The name of the table. */
  declare name: string;
  /** Undefined while the list of tables is being read, and if there is no such table. */
  declare table: CatalogTable | undefined;
  /** The filter of the shown rows. */
  declare filter: Predicate | null;
  /** Whether all rows are described although the shown ones are filtered. */
  declare isWhole: boolean;
  /** Undefined until the schema is known. */
  declare fields: readonly Field[] | undefined;
  /** Texts of the first rows. */
  declare sample: (string | null)[][];
  /** Summaries of columns, or why there is none, by the name of the column. */
  declare summaries: ReadonlyMap<string, Summary | ColonnadeError>;
  declare parquet: ParquetMetadata | undefined;
  declare error: ColonnadeError | undefined;
  /** Whether columns are summarised: the table is small enough, or the user requested it. */
  declare isRequested: boolean;
  #result: QueryResult | undefined;
  #version: string | undefined;
  #semaphore = new Semaphore(MAX_SUMMARIES);
  readonly #requested = new Set<string>();
  #observer: IntersectionObserver | undefined;

  constructor() {
    super();
    this.filter = null;
    this.isWhole = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#end();
    this.#version = undefined;
  }

  protected override willUpdate(): void {
    const { table } = this;
    const version = table && [table.name, table.version, JSON.stringify(this.#applied)].join("\n");
    if (version === this.#version) return;
    this.#version = version;
    this.#end();
    if (table !== undefined && table.error === undefined) void this.#begin(table);
  }

  protected override updated(): void {
    if (!this.isRequested) return;
    for (const row of this.querySelectorAll("tr[data-column]")) this.#observer?.observe(row);
  }

  protected override render() {
    const { table, error } = this;
    if (table === undefined)
      return html`<p class="note">There is no table “${this.name}” in the list.</p>`;
    if (table.error !== undefined) {
      return html`<div class="note">
        <p><strong>${table.name} cannot be read</strong></p>
        <p class="note-error">${table.error}</p>
      </div>`;
    }
    const facts = [
      table.format,
      table.rows === null ? undefined : formatRows(table.rows),
      table.bytes === null ? undefined : formatBytes(table.bytes),
      `${table.fields.length} ${table.fields.length === 1 ? "column" : "columns"}`,
    ].filter((entry) => entry !== undefined);
    return html`<div class="details">
      <div class="details-head">
        <h2>${table.name}</h2>
        <span class="minor">${facts.join(" · ")}</span>
      </div>
      ${error === undefined ? nothing : errorAlert(error)}
      ${leftOutFiles(table)}
      <section>
        <div class="section-head">
          <h3>Columns ${this.filter === null ? nothing : html`<span class="minor">${this.#rowsText}</span>`}</h3>
          ${
            this.filter === null
              ? nothing
              : html`<button
                  class="action"
                  @click=${() => {
                    this.isWhole = !this.isWhole;
                  }}
                >
                  ${this.isWhole ? "Only the filtered rows" : "All rows"}
                </button>`
          }
          ${
            this.isRequested
              ? nothing
              : html`<button
                  class="action"
                  @click=${() => {
                    this.isRequested = true;
                  }}
                >
                  Summarise columns
                </button>`
          }
        </div>
        ${columnsTable(this.fields ?? withMetadata(table.fields), this.sample, this.summaries, this.isRequested)}
      </section>
      ${this.parquet === undefined ? nothing : parquetMetadata(this.parquet)}
      <section>
        <h3>SQL</h3>
        ${statement(`SELECT count(*) FROM ${quoteNameIfNeeded(table.name)}`)}
        ${statement(someSql(table))}
      </section>
    </div>`;
  }

  /** The filter of the described rows. */
  get #applied(): Predicate | null {
    return this.isWhole ? null : this.filter;
  }

  /** Which rows are described; their number is known from the first summary. */
  get #rowsText(): string {
    if (this.isWhole) return "of all rows";
    for (const summary of this.summaries.values()) {
      if (!(summary instanceof ColonnadeError)) {
        const { rows } = summary;
        return `of the ${formatCount(rows)} filtered ${rows === 1 ? "row" : "rows"}`;
      }
    }
    return "of the filtered rows";
  }

  async #begin(table: CatalogTable): Promise<void> {
    const filter = this.#applied;
    const result = new QueryResult({ table: table.name, ...(filter === null ? {} : { filter }) });
    this.#result = result;
    this.isRequested = table.rows !== null && table.rows <= MAX_ROWS_AUTOMATIC;
    // A column is summarised once it is visible.
    this.#observer = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        const column = target.getAttribute("data-column");
        if (isIntersecting && column !== null) void this.#summarise(result, column);
      }
    });
    try {
      const [described, rows] = await Promise.all([
        fetchJson(`/v1/tables/${encodeURIComponent(table.name)}`).then((answer) => answer.json()),
        result.firstRows(SAMPLE_ROWS),
      ]);
      const sample = await rows.text({ start: 0, end: SAMPLE_ROWS });
      rows.close();
      if (result !== this.#result) return;
      this.parquet = (described as { parquet?: ParquetMetadata }).parquet;
      this.fields = rows.schema.fields;
      this.sample = sample;
    } catch (thrown) {
      if (result === this.#result && !isCancelled(thrown)) {
        this.error = ColonnadeError.from(thrown, "open_failed");
      }
    }
  }

  async #summarise(result: QueryResult, column: string): Promise<void> {
    if (this.#requested.has(column)) return;
    this.#requested.add(column);
    let found: Summary | ColonnadeError;
    try {
      found = await this.#semaphore.run(() => result.summary(column));
    } catch (thrown) {
      if (isCancelled(thrown)) return;
      found = ColonnadeError.from(thrown, "open_failed");
    }
    if (result === this.#result) this.summaries = new Map([...this.summaries, [column, found]]);
  }

  #end(): void {
    this.#result?.close();
    this.#result = undefined;
    this.#observer?.disconnect();
    this.#semaphore = new Semaphore(MAX_SUMMARIES);
    this.#requested.clear();
    this.fields = undefined;
    this.sample = [];
    this.summaries = new Map();
    this.parquet = undefined;
    this.error = undefined;
    this.isRequested = false;
  }
}

function withMetadata(fields: CatalogTable["fields"]): Field[] {
  return fields.map((field) => ({ ...field, metadata: {} }));
}

function leftOutFiles(table: CatalogTable) {
  const text = leftOutText(table);
  if (text === undefined) return nothing;
  return html`<section>
    <h3>${text}</h3>
    <p class="minor">
      The server could not read ${table.left_out.length === 1 ? "this file" : "these files"} of the table, so
      rows are missing. It looks again whenever a file changes.
    </p>
    <ul class="left-out">
      ${table.left_out.map(({ path, detail }) => html`<li><code>${path}</code> ${detail}</li>`)}
    </ul>
  </section>`;
}

function statement(sql: string) {
  return html`<div class="statement">
    <pre>${sql}</pre>
    ${copyButton("Copy SQL", () => sql)}
  </div>`;
}

function someSql({ name, fields }: CatalogTable): string {
  const names = fields.map((field) => quoteNameIfNeeded(field.name));
  return `SELECT ${names.join(", ")}\nFROM ${quoteNameIfNeeded(name)}\nLIMIT 100`;
}
