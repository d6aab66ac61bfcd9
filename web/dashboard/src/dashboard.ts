import { ColonnadeError } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { type CatalogTable, fetchCatalog, queryRequest, rowsUrl } from "./catalog.js";
import { chartStateIn, withChartState } from "./charts/address.js";
import { chartPart } from "./charts/part.js";
import { half, list, mark, moon, sun } from "./icons.js";
import { addressOf, type Shown, shownIn } from "./location.js";
import { applyTheme, loadTheme, nextTheme, type Theme } from "./theme.js";

const THEME_ICONS = { auto: half, light: sun, dark: moon };

/** The page: tables at the left, a statement above, rows below. */
export class Dashboard extends LitElement {
  static override properties: PropertyDeclarations = {
    tables: { state: true },
    tablesError: { state: true },
    shown: { state: true },
    sql: { state: true },
    source: { state: true },
    theme: { state: true },
    isListOpen: { state: true },
    chartState: { state: true },
  };

  declare tables: CatalogTable[] | undefined;
  declare tablesError: string | undefined;
  declare shown: Shown;
  /** The last statement; stays in its box while a table is looked at. */
  declare sql: string;
  /** What the viewer streams; a new Request each time, so that the same statement runs again. */
  declare source: string | Request | null;
  declare theme: Theme;
  /** Whether the list of tables is open where the page is too narrow to show it always. */
  declare isListOpen: boolean;
  /** Which charts are open, as the address says it. */
  declare chartState: string | undefined;

  constructor() {
    super();
    this.sql = "";
    this.source = null;
    this.theme = loadTheme();
    this.isListOpen = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("popstate", this.#onAddress);
    document.addEventListener("visibilitychange", this.#onVisible);
    void this.#loadTables();
    this.#onAddress();
    this.isListOpen = this.shown === undefined;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("popstate", this.#onAddress);
    document.removeEventListener("visibilitychange", this.#onVisible);
  }

  protected override render() {
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
        <button
          class="icon"
          aria-label=${`Theme: ${this.theme}`}
          title=${`Theme: ${this.theme}`}
          @click=${() => {
            this.theme = nextTheme(this.theme);
            applyTheme(this.theme);
          }}
        >
          ${THEME_ICONS[this.theme]}
        </button>
      </header>
      <nav id="tables" aria-label="Tables" class=${this.isListOpen ? "open" : ""}>
        <tables-list
          .tables=${this.tables}
          .error=${this.tablesError}
          .isAlert=${this.source === null}
          .current=${this.shown && "table" in this.shown ? this.shown.table : undefined}
          @choose=${(event: CustomEvent<string>) => this.#go({ table: event.detail })}
          @reload=${() => this.#loadTables()}
        ></tables-list>
      </nav>
      <main>
        <sql-box
          .sql=${this.sql}
          .example=${this.#exampleSql()}
          @run=${(event: CustomEvent<string>) => this.#go({ sql: event.detail })}
        ></sql-box>
        ${this.source === null ? this.#renderWelcome() : nothing}
        <div class="shown" ?hidden=${this.source === null}>
          <colonnade-viewer
            .theme=${this.theme}
            .totalRows=${this.#totalRows()}
            .source=${this.source}
          ></colonnade-viewer>
          ${chartPart({
            place: { subject: this.shown, chart: this.chartState },
            keepChart: (chart) => {
              this.chartState = chart;
              history.replaceState(null, "", withChartState(location.search, chart));
            },
          })}
        </div>
      </main>`;
  }

  #renderWelcome() {
    return html`<div class="welcome">
      ${mark}
      <p><strong>Choose a table, or write a statement.</strong></p>
      <p>Rows appear while the rest still arrives.</p>
    </div>`;
  }

  readonly #onAddress = () => this.#show(shownIn(location.search));

  /** Files may have changed while the page was out of sight. */
  readonly #onVisible = () => {
    if (document.visibilityState === "visible") void this.#loadTables();
  };

  #go(shown: Shown): void {
    const address = addressOf(shown);
    if (address !== location.pathname + location.search) history.pushState(null, "", address);
    this.#show(shown);
  }

  #show(shown: Shown): void {
    this.shown = shown;
    // An open panel stays open for other rows, with charts of theirs.
    this.chartState = chartStateIn(location.search) ?? (this.chartState && "");
    this.isListOpen = false;
    if (shown === undefined) {
      this.source = null;
      document.title = "Colonnade";
    } else if ("table" in shown) {
      this.source = new Request(rowsUrl(shown.table));
      document.title = `${shown.table} – Colonnade`;
    } else {
      this.sql = shown.sql;
      this.source = queryRequest(shown.sql);
      document.title = "Query – Colonnade";
    }
  }

  async #loadTables(): Promise<void> {
    try {
      this.tables = await fetchCatalog();
      this.tablesError = undefined;
    } catch (thrown) {
      // A list that was read before is still the best there is.
      if (this.tables !== undefined) return;
      this.tablesError =
        thrown instanceof ColonnadeError ? thrown.message : "The list of tables cannot be read.";
    }
  }

  #exampleSql(): string {
    const current = this.shown && "table" in this.shown ? this.shown.table : undefined;
    const name = current ?? this.tables?.[0]?.name ?? "table";
    const isPlain = /^[a-z_][a-z0-9_]*$/.test(name);
    return `SELECT * FROM ${isPlain ? name : `"${name.replaceAll('"', '""')}"`} LIMIT 100`;
  }

  #totalRows(): number | null {
    const { shown } = this;
    if (shown === undefined || !("table" in shown)) return null;
    return this.tables?.find(({ name }) => name === shown.table)?.rows ?? null;
  }
}
