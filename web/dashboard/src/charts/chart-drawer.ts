import type { ColonnadeViewer, Predicate, Schema } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { drawerStyles } from "./chart-drawer-styles.js";
import type { ChartField } from "./fields.js";
import type { ChartSource } from "./predicate-sql.js";

/**
 * A drawer beside a viewer for charts of its rows. It is a sibling of the viewer, and loads the code of
 * charts when it is first opened.
 *
 * @fires chart-state - detail: the state
 */
export class ChartDrawer extends LitElement {
  static override styles = drawerStyles;
  static override properties: PropertyDeclarations = {
    shown: { attribute: false, hasChanged: isOther },
    state: { attribute: false },
    isOpen: { state: true },
    isLoaded: { state: true },
    isFailed: { state: true },
    source: { state: true },
    fields: { state: true },
    filter: { state: true },
  };

  /** The source of the rows that the viewer shows. */
  declare shown: ChartSource | undefined;
  /** The chart panel's encoded state; undefined while the drawer is closed. */
  declare state: string | undefined;
  declare isOpen: boolean;
  declare isLoaded: boolean;
  declare isFailed: boolean;
  declare source: ChartSource | undefined;
  declare fields: readonly ChartField[];
  declare filter: Predicate | null;
  #listening: AbortController | undefined;
  /** The state to restore when the drawer is opened again for the same rows. */
  #closed = "";

  constructor() {
    super();
    this.isOpen = false;
    this.isLoaded = false;
    this.isFailed = false;
    this.fields = [];
    this.filter = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    const parent = this.parentElement;
    parent?.addEventListener("colonnade-schema", this.#onSchema, { signal });
    parent?.addEventListener("colonnade-filter", this.#onFilter, { signal });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#listening?.abort();
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("shown")) {
      this.source = undefined;
      this.#closed = "";
      // The viewer may already have these rows.
      void this.updateComplete.then(() => {
        const table = this.#viewer?.table;
        if (table !== undefined) this.#takeFields(table.schema.fields);
      });
    }
    if (changed.has("state")) {
      this.isOpen = this.state !== undefined;
      if (this.isOpen) void this.#loadPanel();
    }
  }

  protected override render() {
    const { isOpen } = this;
    return html`${isOpen ? this.#renderPanel() : nothing}
      <div class="rail" ?hidden=${isOpen}>
        <button aria-expanded=${isOpen} @click=${this.#open}>
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d="M2.500 13.500h11M4.500 13.500v-4M8 13.500v-10M11.500 13.500v-7" />
          </svg>
          Chart
        </button>
      </div>`;
  }

  #renderPanel() {
    if (this.isFailed) {
      return html`<div class="note" role="alert">
        <p>The charts could not be loaded from the server.</p>
        <button @click=${this.#open}>Retry</button>
      </div>`;
    }
    if (!this.isLoaded || this.source === undefined) {
      return html`<div class="note"><p>Loading columns…</p></div>`;
    }
    return html`<chart-panel
      .source=${this.source}
      .fields=${this.fields}
      .filter=${this.filter}
      .state=${this.state ?? ""}
      @chart-filter=${({ detail }: CustomEvent<Predicate | null>) => {
        if (this.#viewer) this.#viewer.filter = detail;
      }}
      @chart-state=${({ detail }: CustomEvent<string>) => this.#setState(detail)}
      @chart-close=${this.#close}
    ></chart-panel>`;
  }

  get #viewer(): ColonnadeViewer | null {
    return this.parentElement?.querySelector("colonnade-viewer") ?? null;
  }

  readonly #onSchema = (event: Event) => {
    this.#takeFields((event as CustomEvent<Schema>).detail.fields);
  };

  #takeFields(fields: readonly ChartField[]): void {
    if (this.shown === undefined) return;
    this.source = { ...this.shown };
    this.fields = fields;
    this.filter = this.#viewer?.filter ?? null;
  }

  readonly #onFilter = (event: Event) => {
    this.filter = (event as CustomEvent<Predicate | null>).detail;
  };

  readonly #open = () => this.#setState(this.state ?? this.#closed);

  readonly #close = () => {
    this.#closed = this.state ?? "";
    this.#setState(undefined);
    void this.updateComplete.then(() => this.renderRoot.querySelector("button")?.focus());
  };

  #setState(state: string | undefined): void {
    this.state = state;
    this.isOpen = state !== undefined;
    if (this.isOpen) void this.#loadPanel();
    this.dispatchEvent(new CustomEvent("chart-state", { detail: state }));
  }

  async #loadPanel(): Promise<void> {
    try {
      this.isFailed = false;
      await import("./chart-panel.js");
      this.isLoaded = true;
    } catch {
      this.isFailed = true;
    }
  }
}

function isOther(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}
