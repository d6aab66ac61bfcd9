import type { ColonnadeViewer, ViewerField } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import {
  type Address,
  isPlainView,
  PLAIN_STATE,
  type Subject,
  type View,
} from "../address/address.js";
import { Navigation } from "../address/navigation.js";
import { splitTypes, withoutColumn } from "../address/read-as.js";
import { type CatalogTable, exampleSql } from "../catalog/catalog.js";
import { CatalogWatch } from "../catalog/catalog-watch.js";
import { storedResult } from "../queries/queries.js";
import { reuseResult } from "../queries/reused-result.js";
import type { Panel, Shell } from "../shell/shell.js";
import { applyTheme, loadTheme, nextTheme, type Theme, themeIcon } from "../shell/theme.js";
import { fieldColumn } from "../sql/field-column.js";
import { StatementsControl } from "../sql/statements-control.js";
import type { NotificationEvent } from "../ui/copy-button.js";
import { list, mark } from "../ui/icons.js";
import { ExampleColumns } from "./example-columns.js";
import { OpenRows } from "./open-rows.js";
import { barPanels, overlayPanels, rowPanels, sidePanels } from "./panels.js";
import { isShowable, isStatement, type RowsControl } from "./rows-control.js";
import { RowsVersion, staleRowsNote } from "./rows-version.js";
import { viewTabs } from "./view-tabs.js";
import { welcome } from "./welcome.js";

/** A statement that runs longer than this can be cancelled where it was run. */
const SLOW_MS = 300;
/** How long a notification is shown, in ms. */
const NOTIFICATION_MS = 4000;

/** The page: the list of tables at the left, the statement above, the rows below. */
export class Dashboard extends LitElement implements Shell {
  static override properties: PropertyDeclarations = {
    theme: { state: true },
    isListOpen: { state: true },
    notification: { state: true },
    isRunning: { state: true },
    isAbsent: { state: true },
  };

  declare theme: Theme;
  /** Whether the list of tables is open on a page that is too narrow to show it always. */
  declare isListOpen: boolean;
  /** The text of the shown notification; empty for none. */
  declare notification: string;

  /** Whether a statement has been running for {@link SLOW_MS}. */
  declare isRunning: boolean;
  /** Whether the rows of the shown statement are neither in the page nor at the server. */
  declare isAbsent: boolean;
  readonly #catalog = new CatalogWatch(() => this.requestUpdate());
  readonly #exampleColumns = new ExampleColumns(() => this.requestUpdate());
  readonly #navigation = new Navigation({
    show: (address, isReload, statement) => this.#show(address, isReload, statement),
    state: () => this.#rows.state,
  });
  readonly #openRows = new OpenRows({
    onState: (change, isRefusal) => {
      this.#navigation.record(change, isRefusal);
      this.requestUpdate();
    },
    onResult: (viewer, sql) => this.#statements.follow(viewer, sql),
  });
  readonly #statements = new StatementsControl(this.#navigation, {
    onChange: () => this.requestUpdate(),
    onStop: () => this.viewer.cancel(),
    onClose: (sql) => this.#openRows.close(sql),
  });
  readonly #version = new RowsVersion();
  /** How many times rows were requested, including for the same address. */
  #numLoads = 0;
  #following: AbortController | undefined;
  #notificationTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.theme = loadTheme();
    this.isListOpen = false;
    this.notification = "";
    this.isRunning = false;
    this.isAbsent = false;
    this.addEventListener("notification", (event) =>
      this.#notify((event as NotificationEvent).detail),
    );
  }

  get viewer(): ColonnadeViewer {
    return this.#rows.viewer;
  }

  get #rows(): RowsControl {
    return this.#openRows.shown;
  }

  get tables(): readonly CatalogTable[] | undefined {
    return this.#catalog.tables;
  }

  get address(): Address {
    return this.#navigation.address;
  }

  go(subject: Subject): void {
    if (subject && "sql" in subject) this.#statements.run(subject.sql);
    else this.#navigation.go(subject);
  }

  open(address: Address): void {
    this.#navigation.open(address);
  }

  setChart(chart: string | undefined): void {
    this.#navigation.record({ chart });
  }

  reloadTables(): Promise<void> {
    return this.#catalog.read();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#catalog.start();
    this.#navigation.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#catalog.stop();
    this.#navigation.stop();
  }

  protected override willUpdate(): void {
    for (const viewer of this.#openRows.viewers) viewer.theme = this.theme;
    this.viewer.hidden = !this.#rows.isShown;
    const { subject } = this.address;
    this.viewer.fieldColumns = subject !== undefined && !("file" in subject);
    this.#openRows.putAside();
  }

  protected override render() {
    const { subject, view } = this.address;
    const hasRows = isShowable(subject);
    return html`${this.#renderBar()} ${this.#renderTables()}
      <main>
        ${this.#statements.renderTabs()}
        <div
          id="subject"
          class="subject"
          role=${this.#statements.hasTabs ? "tabpanel" : nothing}
          aria-label=${this.#statements.hasTabs ? this.#statements.title : nothing}
        >
          ${this.#statements.renderPanel(this.tables ?? [], this.#exampleSql(), this.isRunning)}
          ${hasRows ? this.#renderViewBar(subject) : nothing}
          <div id="view" class="view" role=${hasRows ? "tabpanel" : nothing} aria-label=${hasRows ? view : nothing}>
            ${hasRows ? nothing : welcome(this.tables, this.#exampleColumns, (to) => this.go(to))}
            ${hasRows && view === "rows" ? this.#renderStaleRowsNote() : nothing}
            ${hasRows && view === "rows" ? this.#renderReadAs() : nothing}
            <div class=${this.isRunning ? "shown running" : "shown"} ?hidden=${this.viewer.hidden} @colonnade-field=${this.#onField}>${this.viewer}${this.#renderPanels(sidePanels)}</div>
            ${this.#renderOtherView()}
          </div>
        </div>
      </main>
      ${this.#renderPanels(overlayPanels)}
      ${this.#openRows.element}
      <div class="notification" aria-live="polite">${this.notification}</div>`;
  }

  #renderBar() {
    return html`<header>
      <button
        class="icon menu"
        aria-label="Show tables"
        aria-expanded=${this.isListOpen}
        aria-controls="tables"
        @click=${() => {
          this.isListOpen = !this.isListOpen;
        }}
      >
        ${list}
      </button>
      <h1>${mark}Colonnade</h1>
      <div class="actions">
        ${this.#renderPanels(barPanels)}
        <button
          class="icon"
          aria-label=${`Theme: ${this.theme}`}
          title=${`Theme: ${this.theme}`}
          @click=${() => {
            this.theme = nextTheme(this.theme);
            applyTheme(this.theme);
          }}
        >
          ${themeIcon(this.theme)}
        </button>
      </div>
    </header>`;
  }

  #renderTables() {
    const { subject } = this.address;
    return html`<nav id="tables" aria-label="Tables" class=${this.isListOpen ? "open" : ""}>
      <tables-list
        .tables=${this.tables}
        .leftOut=${this.#catalog.leftOut}
        .note=${this.#catalog.note}
        .error=${this.#catalog.error}
        .isAlert=${!this.#rows.isShown}
        .current=${subject && "table" in subject ? splitTypes(subject.table)[0] : undefined}
        @choose=${(event: CustomEvent<string>) => this.go({ table: event.detail })}
        @details=${(event: CustomEvent<string>) =>
          this.#navigation.go({ table: event.detail }, { view: "details" })}
        @reload=${() => this.reloadTables()}
      ></tables-list>
    </nav>`;
  }

  #renderViewBar(subject: Subject) {
    const { view, state } = this.address;
    const canReset = this.#rows.isShown && !isPlainView(state);
    return html`<div class="views">
      ${viewTabs(subject, view, (to) => this.#switchView(subject, to))}
      <div class="actions">
        ${canReset ? resetButton(() => this.open({ ...this.address, state: PLAIN_STATE })) : nothing}
        ${this.#renderPanels(rowPanels)}
      </div>
    </div>`;
  }

  #switchView(subject: Subject, view: View): void {
    const hasRun = !isStatement(subject) || this.#rows.has(subject);
    if (view === "rows" && !hasRun) this.go(subject);
    else this.#navigation.switchView(view);
  }

  #renderStaleRowsNote() {
    const { subject } = this.address;
    const table = this.#tableInfo;
    // The alert of a failure says what to do; the table may have been read again because of it.
    if (this.viewer.table?.state === "failed") return nothing;
    if (table === undefined || !this.#version.isStale(subject, table)) return nothing;
    return staleRowsNote(table.name, () => this.#show(this.address, true, undefined));
  }

  #renderReadAs() {
    const { subject } = this.address;
    if (subject === undefined || !("table" in subject)) return nothing;
    return html`<read-as-menu
      .name=${subject.table}
      .viewer=${this.viewer}
      .isCsv=${this.#tableInfo?.format === "csv"}
      @read-as=${({ detail }: CustomEvent<{ column: string; name: string }>) => {
        const { address } = this;
        const filter = withoutColumn(address.state.filter, detail.column);
        const state = { ...address.state, filter };
        this.open({ ...address, subject: { table: detail.name }, state });
      }}
    ></read-as-menu>`;
  }

  /** The details of a table or the plan of a statement, instead of the rows. */
  #renderOtherView() {
    const { subject, view } = this.address;
    if (subject === undefined || !isShowable(subject)) return nothing;
    if (view === "rows") {
      return this.isAbsent ? absentRows(() => this.go(subject)) : nothing;
    }
    if ("sql" in subject) {
      return html`<plan-panel .sql=${subject.sql} .numLoads=${this.#numLoads}></plan-panel>`;
    }
    if (this.tables === undefined || !("table" in subject)) return nothing;
    const { table: name } = subject;
    const table = this.#tableInfo && { ...this.#tableInfo, name };
    const { filter } = this.address.state;
    return html`<table-details .name=${name} .table=${table} .filter=${filter}></table-details>`;
  }

  readonly #onField = ({ detail }: CustomEvent<ViewerField>) => {
    const { subject, state } = this.address;
    if (subject === undefined || "file" in subject) return;
    const fields = this.viewer.table?.schema.fields ?? [];
    const { sql, name } = fieldColumn(subject, detail, fields);
    const { columns } = state;
    const shown = columns.shown && [...columns.shown, name];
    this.#statements.runInNewTab(sql, { ...state, columns: { ...columns, shown }, row: 0 });
  };

  #renderPanels(panels: readonly Panel[]) {
    return panels.map((panel) => panel(this));
  }

  #notify(message: string): void {
    clearTimeout(this.#notificationTimer);
    this.notification = message;
    this.#notificationTimer = setTimeout(() => {
      this.notification = "";
    }, NOTIFICATION_MS);
  }

  /** @param isRun whether a reload runs the statement, instead of reading its stored rows */
  #show(
    address: Address,
    isReload: boolean,
    statement: number | undefined,
    isRun = isReload,
  ): void {
    this.isListOpen = false;
    this.#statements.show(address, isRun, statement);
    const rows = this.#openRows.select(address.subject);
    // Both, because the viewer forgets a total that is not set again with another source.
    this.viewer.totalRows = null;
    this.viewer.totalRows = this.#tableInfo?.rows ?? null;
    const isRequested = rows.show(address, isReload);
    void this.#followStatement();
    if (isReload) this.#numLoads++;
    if (isRequested && !isStatement(address.subject)) this.#version.begin(address.subject);
    const title = this.#statements.title;
    document.title = title === undefined ? "Colonnade" : `${title} – Colonnade`;
    this.requestUpdate();
  }

  #exampleSql(): string {
    const table = this.#tableInfo ?? this.tables?.find(({ error }) => error === undefined);
    return table === undefined
      ? "SELECT 1"
      : exampleSql(table.name, this.#exampleColumns.of(table));
  }

  /** Notes whether the shown statement runs, or looks for its rows. */
  async #followStatement(): Promise<void> {
    const { subject } = this.address;
    this.isRunning = false;
    this.isAbsent = false;
    this.#following?.abort();
    const following = new AbortController();
    this.#following = following;
    if (subject === undefined || !("sql" in subject)) return;
    if (!this.#rows.isShown) return this.#findRows(subject.sql, following.signal);
    const timer = setTimeout(() => {
      this.isRunning = true;
    }, SLOW_MS);
    following.signal.addEventListener("abort", () => clearTimeout(timer));
    // Its errors are shown by the viewer.
    await this.viewer.ready.then(({ done }) => done).catch(() => undefined);
    if (following.signal.aborted) return;
    following.abort();
    this.isRunning = false;
  }

  /** Shows the rows of a statement that only the server has. */
  async #findRows(sql: string, signal: AbortSignal): Promise<void> {
    if (!isShowable({ sql }) || this.address.view !== "rows") return;
    const id = await storedResult(sql, signal);
    if (signal.aborted) return;
    this.isAbsent = id === undefined;
    if (id === undefined) return;
    reuseResult(sql, id);
    this.#show(this.address, true, this.#statements.id, false);
  }

  get #tableInfo(): CatalogTable | undefined {
    const { subject } = this.address;
    if (subject === undefined || !("table" in subject)) return undefined;
    const [table] = splitTypes(subject.table);
    return this.tables?.find(({ name }) => name === table);
  }
}

/** The button that shows all rows and columns in their own order. */
function resetButton(reset: () => void) {
  return html`<button
    class="action"
    title="Remove the sort order, filters and changes of columns"
    @click=${reset}
  >
    Reset view
  </button>`;
}

/** What stands in place of the rows of a statement that are not in the page. */
function absentRows(run: () => void) {
  return html`<div class="absent">
    <p>The rows of this statement are gone: neither this page nor the server keeps them.</p>
    <button class="primary" @click=${run}>Run</button>
  </div>`;
}
