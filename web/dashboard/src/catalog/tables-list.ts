import type { ColonnadeError } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { formatAddress, subjectAddress } from "../address/address.js";
import { formatBytes, formatCount, formatRows } from "../text/format.js";
import { chevron, refresh } from "../ui/icons.js";
import { opensElsewhere } from "../ui/link-click.js";
import { type CatalogTable, filterCatalog, type LeftOutFile, leftOutText } from "./catalog.js";

/**
 * The list of tables. A plain click on a link fires an event; other clicks follow the link.
 *
 * @fires choose - detail: the table's name
 * @fires details - detail: the name of the table whose details are requested
 * @fires reload - when the list is to be read again
 */
export class TablesList extends LitElement {
  static override properties: PropertyDeclarations = {
    tables: { attribute: false },
    leftOut: { attribute: false },
    note: { attribute: false },
    error: { attribute: false },
    isAlert: { attribute: false },
    current: { attribute: false },
    filter: { state: true },
    expanded: { state: true },
  };

  /** Undefined while the list is being read. */
  declare tables: readonly CatalogTable[] | undefined;
  /** Files of the served folders that are not tables. */
  declare leftOut: readonly LeftOutFile[];
  /** Why there are no tables, if a remote engine cannot list them. */
  declare note: string | undefined;
  declare error: ColonnadeError | undefined;
  /** Whether the error is an alert; false if the viewer shows the same error. */
  declare isAlert: boolean;
  declare current: string | undefined;
  declare filter: string;
  declare expanded: ReadonlySet<string>;

  constructor() {
    super();
    this.leftOut = [];
    this.filter = "";
    this.expanded = new Set();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render() {
    return html`<div class="filter">
        <input
          type="search"
          aria-label="Filter tables"
          placeholder="Filter tables and columns"
          autocomplete="off"
          spellcheck="false"
          .value=${this.filter}
          @input=${(event: InputEvent) => {
            this.filter = (event.currentTarget as HTMLInputElement).value;
          }}
        />
        <button
          class="icon"
          aria-label="Refresh the list"
          title="Refresh the list"
          @click=${() => this.dispatchEvent(new CustomEvent("reload"))}
        >
          ${refresh}
        </button>
      </div>
      ${this.#renderList()} ${this.error === undefined ? renderLeftOut(this.leftOut) : nothing}`;
  }

  #renderList() {
    if (this.error !== undefined) {
      return html`<div class="note" role=${this.isAlert ? "alert" : nothing}>
        <p class="note-error">${this.error.message}</p>
        ${this.error.hint === undefined ? nothing : html`<p>${this.error.hint}</p>`}
        <p>The list is requested again every few seconds.</p>
        <button @click=${() => this.dispatchEvent(new CustomEvent("reload"))}>Try again</button>
      </div>`;
    }
    if (this.tables === undefined) return html`<p class="note">Loading tables…</p>`;
    if (this.tables.length === 0) {
      return html`<div class="note">
        <p><strong>No tables</strong></p>
        ${
          this.note === undefined
            ? html`<p>Start the server with one or more files:</p>
                <code>colonnade serve data/*.parquet</code>`
            : html`<p>${this.note}</p>`
        }
      </div>`;
    }
    const tables = filterCatalog(this.tables, this.filter);
    if (tables.length === 0)
      return html`<p class="note">No table or column matches “${this.filter}”.</p>`;
    return html`<ul class="tables">
      ${repeat(
        tables,
        ({ name }) => name,
        (table) => this.#renderTable(table),
      )}
    </ul>`;
  }

  #renderTable(table: CatalogTable) {
    if (table.error !== undefined) return this.#renderUnreadable(table, table.error);
    const { name, format, rows, bytes, uploaded } = table;
    const leftOut = leftOutText(table);
    const isOpen = this.expanded.has(name);
    const facts = [
      rows === null ? undefined : formatRows(rows),
      bytes === null ? undefined : formatBytes(bytes),
    ].filter((fact) => fact !== undefined);
    return html`<li>
      <div class="table ${name === this.current ? "current" : ""}">
        <button
          class=${isOpen ? "expand expanded" : "expand"}
          aria-label=${`Columns of ${name}`}
          aria-expanded=${isOpen}
          @click=${() => this.#toggle(name)}
        >
          ${chevron}
        </button>
        <div class="about">
          <a
            href=${formatAddress(subjectAddress({ table: name }))}
            title=${name}
            aria-current=${name === this.current ? "page" : nothing}
            @click=${(event: MouseEvent) => this.#onLinkClick("choose", event, name)}
            >${name}</a
          >
          <span class="facts">${facts.join(" · ")}</span>
          ${leftOut === undefined ? nothing : html`<span class="facts left-out">${leftOut}</span>`}
        </div>
        <span class="format">${format}</span>
        ${uploaded ? html`<remove-table .name=${name}></remove-table>` : nothing}
      </div>
      ${isOpen ? this.#renderOpened(table) : nothing}
    </li>`;
  }

  /** A table without rows to open: its name, and the reason behind a button. */
  #renderUnreadable({ name, format, uploaded }: CatalogTable, error: string) {
    const isOpen = this.expanded.has(name);
    return html`<li>
      <div class="table unreadable ${name === this.current ? "current" : ""}">
        <button
          class=${isOpen ? "expand expanded" : "expand"}
          aria-label=${`Why ${name} cannot be read`}
          aria-expanded=${isOpen}
          @click=${() => this.#toggle(name)}
        >
          ${chevron}
        </button>
        <div class="about">
          <span class="name" title=${name}>${name}</span>
          <span class="facts">Cannot be read</span>
        </div>
        <span class="format">${format}</span>
        ${uploaded ? html`<remove-table .name=${name}></remove-table>` : nothing}
      </div>
      ${isOpen ? html`<p class="reason">${error}</p>` : nothing}
    </li>`;
  }

  #renderOpened({ name, fields }: CatalogTable) {
    return html`${renderFields(fields)}
      <a
        class="more"
        href=${formatAddress(subjectAddress({ table: name }, "details"))}
        aria-label=${`Details of ${name}`}
        @click=${(event: MouseEvent) => this.#onLinkClick("details", event, name)}
        >Details</a
      >`;
  }

  #toggle(name: string): void {
    const expanded = new Set(this.expanded);
    if (!expanded.delete(name)) expanded.add(name);
    this.expanded = expanded;
  }

  #onLinkClick(type: "choose" | "details", event: MouseEvent, name: string): void {
    if (opensElsewhere(event)) return;
    event.preventDefault();
    this.dispatchEvent(new CustomEvent(type, { detail: name }));
  }
}

/** The files that are not tables, closed at first. */
function renderLeftOut(files: readonly LeftOutFile[]) {
  if (files.length === 0) return nothing;
  return html`<details class="not-shown">
    <summary>Not shown (${formatCount(files.length)})</summary>
    <ul>
      ${files.map(({ path, detail }) => html`<li><code>${path}</code> ${detail}</li>`)}
    </ul>
  </details>`;
}

function renderFields(fields: CatalogTable["fields"]) {
  return html`<ul class="fields">
    ${fields.map(
      ({ name, type }) =>
        html`<li title=${`${name}: ${type}`}>
          <span class="field">${name}</span><span class="field-type">${type}</span>
        </li>`,
    )}
  </ul>`;
}
