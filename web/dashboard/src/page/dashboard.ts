import type { ColonnadeViewer } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import type { Place, Subject } from "../address/address.js";
import { Navigation } from "../address/navigation.js";
import { type CatalogTable, exampleSql } from "../catalog/catalog.js";
import { CatalogWatch } from "../catalog/catalog-watch.js";
import { localFile } from "../files/local-files.js";
import type { Part, Shell } from "../shell/shell.js";
import { applyTheme, loadTheme, nextTheme, type Theme, themeIcon } from "../shell/theme.js";
import { StatementsControl } from "../sql/statements-control.js";
import type { SaidEvent } from "../ui/copy-button.js";
import { list, mark } from "../ui/icons.js";
import { barActions, besideRows, overlays, rowActions, rowPanels } from "./panels.js";
import { RowsControl } from "./rows-control.js";
import { oldRowsNote, RowsVersion } from "./rows-version.js";
import { viewTabs } from "./view-tabs.js";
import { welcome } from "./welcome.js";

/** How long it is said that something was done, in ms. */
const SAID_MS = 4000;

/** The page: tables at the left, a statement above, rows below. */
export class Dashboard extends LitElement implements Shell {
  static override properties: PropertyDeclarations = {
    theme: { state: true },
    isListOpen: { state: true },
    said: { state: true },
  };

  declare theme: Theme;
  /** Whether the list of tables is open where the page is too narrow to show it always. */
  declare isListOpen: boolean;
  /** What is being said; see {@link say}. */
  declare said: string;

  readonly viewer: ColonnadeViewer = document.createElement("colonnade-viewer");
  readonly #catalog = new CatalogWatch(() => this.requestUpdate());
  readonly #navigation = new Navigation({
    arrive: (place, isAgain, statement) => this.#arrive(place, isAgain, statement),
  });
  readonly #rows = new RowsControl(this.viewer, (change, isRefusal) =>
    this.#navigation.note(change, isRefusal),
  );
  readonly #statements = new StatementsControl(this.#navigation, this.viewer, () =>
    this.requestUpdate(),
  );
  readonly #version = new RowsVersion();
  /** How often a place was come to, the same place included. */
  #numArrivals = 0;
  #saidTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.theme = loadTheme();
    this.isListOpen = false;
    this.said = "";
    this.addEventListener("said", (event) => this.say((event as SaidEvent).detail));
  }

  get tables() {
    return this.#catalog.tables;
  }

  get place(): Place {
    return this.#navigation.place;
  }

  go(subject: Subject): void {
    if (subject && "sql" in subject) this.#statements.run(subject.sql);
    else this.#navigation.go(subject);
  }

  keepChart(chart: string | undefined): void {
    this.#navigation.note({ chart });
  }

  reloadTables(): Promise<void> {
    return this.#catalog.read();
  }

  say(message: string): void {
    clearTimeout(this.#saidTimer);
    this.said = message;
    this.#saidTimer = setTimeout(() => {
      this.said = "";
    }, SAID_MS);
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
    this.viewer.theme = this.theme;
    this.viewer.hidden = !this.#rows.isShown;
    this.viewer.totalRows = this.#tableInfo?.rows ?? null;
  }

  protected override render() {
    const { subject, view } = this.place;
    const isRun = isSomething(subject);
    return html`${this.#renderBar()} ${this.#renderTables()}
      <main>
        ${this.#statements.renderTabs()}
        <div
          id="subject"
          class="subject"
          role=${this.#statements.hasTabs ? "tabpanel" : nothing}
          aria-label=${this.#statements.hasTabs ? this.#statements.title : nothing}
        >
          ${this.#statements.renderPanel(this.tables ?? [], this.#exampleSql())}
          ${isRun ? this.#renderViewBar(subject) : nothing}
          <div id="view" class="view" role=${isRun ? "tabpanel" : nothing} aria-label=${isRun ? view : nothing}>
            ${isRun ? nothing : welcome(this.tables, (to) => this.go(to))}
            ${isRun && view === "rows" ? [this.#renderOldRows(), this.#renderParts(rowPanels)] : nothing}
            <div class="shown" ?hidden=${this.viewer.hidden}>${this.viewer}${this.#renderParts(besideRows)}</div>
            ${this.#renderOtherView()}
          </div>
        </div>
      </main>
      ${this.#renderParts(overlays)}
      <div class="said" aria-live="polite">${this.said}</div>`;
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
        ${this.#renderParts(barActions)}
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
    const { subject } = this.place;
    return html`<nav id="tables" aria-label="Tables" class=${this.isListOpen ? "open" : ""}>
      <tables-list
        .tables=${this.tables}
        .error=${this.#catalog.error}
        .isAlert=${!this.#rows.isShown}
        .current=${subject && "table" in subject ? subject.table : undefined}
        @choose=${(event: CustomEvent<string>) => this.go({ table: event.detail })}
        @details=${(event: CustomEvent<string>) =>
          this.#navigation.go({ table: event.detail }, { view: "details" })}
        @reload=${() => this.reloadTables()}
      ></tables-list>
    </nav>`;
  }

  #renderViewBar(subject: Subject) {
    const { view } = this.place;
    return html`<div class="views">
      ${viewTabs(subject, view, (to) => this.#navigation.turn(to))}
      <div class="actions">${this.#renderParts(rowActions)}</div>
    </div>`;
  }

  #renderOldRows() {
    const { subject } = this.place;
    const table = this.#tableInfo;
    if (table === undefined || !this.#version.isOld(subject, table)) return nothing;
    return oldRowsNote(table.name, () => this.#arrive(this.place, true, undefined));
  }

  /** What is shown in the place of the rows. */
  #renderOtherView() {
    const { subject, view } = this.place;
    if (subject === undefined || !isSomething(subject) || view === "rows") return nothing;
    if ("sql" in subject) {
      return html`<plan-panel .sql=${subject.sql} .numArrivals=${this.#numArrivals}></plan-panel>`;
    }
    if (this.tables === undefined || !("table" in subject)) return nothing;
    const { table } = subject;
    return html`<table-details .name=${table} .table=${this.#tableInfo}></table-details>`;
  }

  #renderParts(parts: readonly Part[]) {
    return parts.map((part) => part(this));
  }

  #arrive(place: Place, isAgain: boolean, statement: number | undefined): void {
    this.isListOpen = false;
    this.#statements.arrive(place, isAgain, statement);
    this.#rows.show(place, isAgain);
    if (isAgain) {
      this.#numArrivals++;
      this.#version.begin(place.subject);
    }
    const title = this.#statements.title;
    document.title = title === undefined ? "Colonnade" : `${title} – Colonnade`;
    this.requestUpdate();
  }

  #exampleSql(): string {
    const { subject } = this.place;
    const current = subject && "table" in subject ? subject.table : undefined;
    return exampleSql(current ?? this.tables?.[0]?.name ?? "table");
  }

  get #tableInfo(): CatalogTable | undefined {
    const { subject } = this.place;
    if (subject === undefined || !("table" in subject)) return undefined;
    return this.tables?.find(({ name }) => name === subject.table);
  }
}

/** Whether there is something to look at. */
function isSomething(subject: Subject): boolean {
  if (subject === undefined) return false;
  if ("file" in subject) return localFile(subject.file) !== undefined;
  return "table" in subject || subject.sql.trim() !== "";
}
