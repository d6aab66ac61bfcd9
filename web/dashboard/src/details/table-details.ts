import { ColonnadeError, type Field, type Summary } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations, type PropertyValues } from "lit";
import { type CatalogTable, fetchJson } from "../catalog/catalog.js";
import { Turns } from "../server/semaphore.js";
import { formatBytes, formatRows } from "../text/format.js";
import { quotedName } from "../text/quote.js";
import { copyButton } from "../ui/copy-button.js";
import { problem } from "../ui/error-alert.js";
import { columnsTable } from "./columns-table.js";
import { type ParquetFacts, parquetFacts } from "./parquet-metadata.js";
import { isStopped, KeptTable } from "./table-result.js";

/** Summaries that the server works on at once. */
const MAX_SUMMARIES = 2;
/** Larger tables are only summarised when somebody asks for it. */
const MAX_ROWS_UNASKED = 50_000_000;
/** Rows of which each column shows its values. */
const SAMPLE_ROWS = 5;

/**
 * What there is to know of a table: its columns with their metadata, their values in short, a few
 * rows, and how it is stored.
 */
export class TableDetails extends LitElement {
  static override properties: PropertyDeclarations = {
    name: { attribute: false },
    table: { attribute: false },
    fields: { state: true },
    sample: { state: true },
    summaries: { state: true },
    parquet: { state: true },
    error: { state: true },
    isAsked: { state: true },
  };

  /** The name that is asked for. */
  declare name: string;
  /** Undefined while the list of tables is being read, and where there is no such table. */
  declare table: CatalogTable | undefined;
  /** Undefined until the schema is known. */
  declare fields: readonly Field[] | undefined;
  /** Texts of the first rows. */
  declare sample: (string | null)[][];
  /** What is known of the columns, by name. */
  declare summaries: ReadonlyMap<string, Summary | ColonnadeError>;
  declare parquet: ParquetFacts | undefined;
  declare error: ColonnadeError | undefined;
  /** Whether columns are to be summarised, by their number of rows or by somebody's wish. */
  declare isAsked: boolean;
  #kept: KeptTable | undefined;
  #version: string | undefined;
  #turns = new Turns(MAX_SUMMARIES);
  readonly #wanted = new Set<string>();
  #seen: IntersectionObserver | undefined;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#end();
    this.#version = undefined;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("table")) return;
    const { table } = this;
    const version = table && `${table.name}\n${table.version}`;
    if (version === this.#version) return;
    this.#version = version;
    this.#end();
    if (table !== undefined) void this.#begin(table);
  }

  protected override updated(): void {
    if (!this.isAsked) return;
    for (const row of this.querySelectorAll("tr[data-column]")) this.#seen?.observe(row);
  }

  protected override render() {
    const { table, error } = this;
    if (table === undefined)
      return html`<p class="note">There is no table “${this.name}” in the list.</p>`;
    const facts = [
      table.format,
      table.rows === null ? undefined : formatRows(table.rows),
      table.bytes === null ? undefined : formatBytes(table.bytes),
      `${table.fields.length} ${table.fields.length === 1 ? "column" : "columns"}`,
    ].filter((fact) => fact !== undefined);
    return html`<div class="details">
      <div class="details-head">
        <h2>${table.name}</h2>
        <span class="minor">${facts.join(" · ")}</span>
      </div>
      ${error === undefined ? nothing : problem(error)}
      <section>
        <div class="section-head">
          <h3>Columns</h3>
          ${
            this.isAsked
              ? nothing
              : html`<button
                  class="action"
                  @click=${() => {
                    this.isAsked = true;
                  }}
                >
                  Summarise the columns
                </button>`
          }
        </div>
        ${columnsTable(this.fields ?? withMetadata(table.fields), this.sample, this.summaries, this.isAsked)}
      </section>
      ${this.parquet === undefined ? nothing : parquetFacts(this.parquet)}
      <section>
        <h3>SQL</h3>
        ${statement(`SELECT count(*) FROM ${quotedName(table.name)}`)}
        ${statement(someSql(table))}
      </section>
    </div>`;
  }

  async #begin(table: CatalogTable): Promise<void> {
    const kept = new KeptTable(table.name);
    this.#kept = kept;
    this.isAsked = table.rows !== null && table.rows <= MAX_ROWS_UNASKED;
    // Columns that nobody scrolls to cost nothing.
    this.#seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        const column = target.getAttribute("data-column");
        if (isIntersecting && column !== null) void this.#summarise(kept, column);
      }
    });
    try {
      const [described, rows] = await Promise.all([
        fetchJson(`/v1/tables/${encodeURIComponent(table.name)}`).then((answer) => answer.json()),
        kept.firstRows(SAMPLE_ROWS),
      ]);
      const sample = await rows.text({ start: 0, end: SAMPLE_ROWS });
      rows.close();
      if (kept !== this.#kept) return;
      this.parquet = (described as { parquet?: ParquetFacts }).parquet;
      this.fields = rows.schema.fields;
      this.sample = sample;
    } catch (thrown) {
      if (kept === this.#kept && !isStopped(thrown)) {
        this.error = ColonnadeError.from(thrown, "open_failed");
      }
    }
  }

  async #summarise(kept: KeptTable, column: string): Promise<void> {
    if (this.#wanted.has(column)) return;
    this.#wanted.add(column);
    let found: Summary | ColonnadeError;
    try {
      found = await this.#turns.take(() => kept.summary(column));
    } catch (thrown) {
      if (isStopped(thrown)) return;
      found = ColonnadeError.from(thrown, "open_failed");
    }
    if (kept === this.#kept) this.summaries = new Map([...this.summaries, [column, found]]);
  }

  #end(): void {
    this.#kept?.close();
    this.#kept = undefined;
    this.#seen?.disconnect();
    this.#turns = new Turns(MAX_SUMMARIES);
    this.#wanted.clear();
    this.fields = undefined;
    this.sample = [];
    this.summaries = new Map();
    this.parquet = undefined;
    this.error = undefined;
    this.isAsked = false;
  }
}

function withMetadata(fields: CatalogTable["fields"]): Field[] {
  return fields.map((field) => ({ ...field, metadata: {} }));
}

function statement(sql: string) {
  return html`<div class="statement">
    <pre>${sql}</pre>
    ${copyButton("Copy SQL", () => sql)}
  </div>`;
}

function someSql({ name, fields }: CatalogTable): string {
  const names = fields.map((field) => quotedName(field.name));
  return `SELECT ${names.join(", ")}\nFROM ${quotedName(name)}\nLIMIT 100`;
}
