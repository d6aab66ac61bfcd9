import { type ColonnadeError, type ColonnadeViewer, type Field, open } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations, type PropertyValues } from "lit";
import { canReadAs, readAs, readingsOf } from "../address/read-as.js";
import { rowsUrl } from "../server/requests.js";
import { formatList } from "../text/quote.js";
import { placeBelow } from "../ui/popover.js";
import { isDateReading, offeredReadings, type ReadingChoice, readingChoices } from "./choices.js";

/** The number of first rows that examples are taken from. */
const SAMPLE_ROWS = 50;
/** The most columns that a question names. */
const MAX_NAMED = 6;

/**
 * How the columns of a CSV table are read: a note above the rows about columns that can be read in several ways, an
 * entry in the menus of all columns, and the choice that both open.
 *
 * @fires read-as - detail: the column, and the name of the table with the chosen reading
 */
export class ReadAsMenu extends LitElement {
  static override properties: PropertyDeclarations = {
    name: { attribute: false },
    viewer: { attribute: false },
    fields: { state: true },
    isCsv: { attribute: false },
    error: { state: true },
    column: { state: true },
    values: { state: true },
  };

  /** The name of the table, with the ways in which its columns are read. */
  declare name: string;
  /** Shows the rows; its menus of columns get an entry each. */
  declare viewer: ColonnadeViewer;
  /** Whether the table is of CSV files. */
  declare isCsv: boolean;
  declare fields: readonly Field[];
  declare error: ColonnadeError | undefined;
  /** The column whose choice is open, or was. */
  declare column: string | undefined;
  /** Its first values as texts. */
  declare values: readonly string[];
  readonly #entries: HTMLElement[] = [];
  #listening: AbortController | undefined;

  constructor() {
    super();
    this.fields = [];
    this.values = [];
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    const { viewer } = this;
    viewer.addEventListener("colonnade-schema", (event) => this.#take(event.detail.fields), {
      signal,
    });
    const onError = (event: CustomEvent<ColonnadeError>) => {
      this.error = event.detail;
    };
    viewer.addEventListener("colonnade-error", onError, { signal });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#listening?.abort();
    this.#take([]);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("name")) return;
    this.#take([]);
    // The viewer may already have these rows.
    void this.updateComplete.then(() => {
      if (this.isConnected) this.#take(this.viewer.table?.schema.fields ?? []);
    });
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (!changed.has("fields") && !changed.has("isCsv")) return;
    for (const entry of this.#entries.splice(0)) entry.remove();
    for (const { name } of this.isCsv ? this.fields : []) {
      if (!canReadAs(name)) continue;
      const entry = document.createElement("button");
      entry.slot = `column ${name}`;
      entry.textContent = "Read as…";
      entry.addEventListener("click", () => this.#open(name, entry));
      this.#entries.push(entry);
    }
    this.viewer.append(...this.#entries);
  }

  protected override render() {
    const failed = columnOf(this.error);
    const open = this.fields.filter(
      (field) => offeredReadings(field).length > 0 && canReadAs(field.name),
    );
    const [dates, numbers] = [true, false].map((isDate) =>
      open.filter((field) => isDateReading(offeredReadings(field)[0] ?? "") === isDate),
    );
    return html`${failed === undefined ? nothing : this.#renderFailure(failed)}
      ${this.#renderQuestion("Numbers with a decimal point or comma?", numbers ?? [])}
      ${this.#renderQuestion("Dates with the day or the month first?", dates ?? [])}
      <div class="menu-panel" popover role="dialog" aria-label=${`Read ${this.column} as`}>
        ${this.column === undefined ? nothing : this.#renderChoices(this.column)}
      </div>`;
  }

  #renderFailure(column: string) {
    return html`<div class="changed">
      <span>A value of <strong>${column}</strong> cannot be read.</span>
      <button class="action" @click=${() => this.#choose(column, "text")}>Read as text</button>
    </div>`;
  }

  #renderQuestion(question: string, fields: readonly Field[]) {
    if (fields.length === 0) return nothing;
    const numOthers = fields.length - MAX_NAMED;
    return html`<div class="changed question">
      <span>${question} Choose how to read:</span>
      ${fields.slice(0, MAX_NAMED).map(
        ({ name }) => html`<button
          class="action"
          aria-haspopup="dialog"
          @click=${({ currentTarget }: Event) => this.#open(name, currentTarget as HTMLElement)}
        >
          ${name}…
        </button>`,
      )}
      ${numOthers > 0 ? html`<span class="minor">and ${numOthers} more, in the menus of their headers</span>` : nothing}
    </div>`;
  }

  #renderChoices(column: string) {
    const field = this.fields.find(({ name }) => name === column);
    const current = readingsOf(this.name).get(column);
    const found = field?.metadata["colonnade.reading"];
    const item = (
      word: string | undefined,
      label: string,
      about: string | undefined,
    ) => html`<button
      class="menu-item"
      aria-pressed=${word === current}
      @click=${() => this.#choose(column, word)}
    >
      <span>${label}</span><span class="minor">${about}</span>
    </button>`;
    return html`<p class="menu-about">Read <b>${column}</b> as</p>
      <div class="menu-list">
        ${item(undefined, "As found", current === undefined ? (found ?? field?.type) : undefined)}
        ${this.#choices(field).map(({ word, label, example }) => item(word, label, example))}
      </div>`;
  }

  #choices(field: Field | undefined): ReadingChoice[] {
    return readingChoices(field === undefined ? [] : offeredReadings(field), this.values);
  }

  async #open(column: string, opener: HTMLElement): Promise<void> {
    // The menu of the column closes when this one opens.
    const rect = opener.getBoundingClientRect();
    this.column = column;
    this.values = [];
    await this.updateComplete;
    const panel = this.querySelector<HTMLElement>("[popover]");
    if (panel === null) return;
    panel.showPopover();
    placeBelow(panel, { getBoundingClientRect: () => rect });
    panel.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
    const values = await firstValues(this.name, column);
    if (this.column !== column) return;
    this.values = values;
    await this.updateComplete;
    placeBelow(panel, { getBoundingClientRect: () => rect });
  }

  #choose(column: string, word: string | undefined): void {
    this.querySelector<HTMLElement>("[popover]")?.hidePopover();
    const detail = { column, name: readAs(this.name, column, word) };
    this.dispatchEvent(new CustomEvent("read-as", { detail }));
  }

  #take(fields: readonly Field[]): void {
    this.fields = fields;
    this.error = undefined;
  }
}

/** The first values of a column as they are written in the file; none if they cannot be read. */
async function firstValues(name: string, column: string): Promise<string[]> {
  try {
    const url = rowsUrl(readAs(name, column, "text"));
    const columns = encodeURIComponent(formatList([column]));
    const table = await open(`${url}?columns=${columns}&limit=${SAMPLE_ROWS}`);
    await table.done;
    const rows = await table.text({ start: 0, end: table.numRows });
    table.close();
    return rows.flatMap(([value]) => value ?? []);
  } catch {
    return [];
  }
}

/** The column whose value the server could not read; undefined for other errors. */
export function columnOf(error: ColonnadeError | undefined): string | undefined {
  if (error?.code !== "broken_row") return undefined;
  const name = /.* in column "(.*)" is not of type /s.exec(error.message)?.[1];
  const column = name?.replace(/\\(.)/g, "$1");
  return column !== undefined && canReadAs(column) ? column : undefined;
}
