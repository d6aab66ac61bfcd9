import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { type Address, formatAddress } from "../address/address.js";
import type { Shell } from "../shell/shell.js";
import { activity, cross } from "../ui/icons.js";
import { opensElsewhere } from "../ui/link-click.js";
import {
  deleteQuery,
  fractionOf,
  hasAllRows,
  type QueryRecord,
  queryAddress,
  queryDetails,
  queryTitle,
  stateLabel,
} from "./queries.js";
import { QueriesWatch } from "./queries-watch.js";
import { reuseResult } from "./reused-result.js";

/** A button, and the dialog that it opens: the server's running and stored results. */
export class QueriesPanel extends LitElement {
  static override properties: PropertyDeclarations = {
    shell: { attribute: false },
    isOpen: { state: true },
    status: { state: true },
  };

  declare shell: Shell;
  declare isOpen: boolean;
  /** The outcome of the last action, for screen readers. */
  declare status: string;
  readonly #watch = new QueriesWatch(() => this.requestUpdate());
  /** The ids of the results that are being deleted. */
  readonly #deleting = new Set<string>();

  constructor() {
    super();
    this.isOpen = false;
    this.status = "";
  }

  /** Opens the dialog. */
  async show(): Promise<void> {
    this.isOpen = true;
    await this.updateComplete;
    this.#watch.start();
    const dialog = this.querySelector("dialog");
    if (!dialog?.open) dialog?.showModal();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#watch.stop();
  }

  protected override render() {
    return html`<button
        class="icon"
        aria-label="Queries"
        title="Queries"
        aria-haspopup="dialog"
        @click=${() => this.show()}
      >
        ${activity}
      </button>
      <dialog
        class="sheet"
        aria-labelledby="queries-title"
        @click=${(event: MouseEvent) => event.target === event.currentTarget && this.#close()}
        @close=${this.#onClose}
      >
        ${this.isOpen ? this.#renderSheet() : nothing}
      </dialog>`;
  }

  #renderSheet() {
    return html`<div class="dialog-head">
        <h2 id="queries-title">Queries</h2>
        <span class="minor">${this.#summary()}</span>
        <button class="icon" aria-label="Close" @click=${() => this.#close()}>${cross}</button>
      </div>
      <div class="sheet-body">${this.#renderError()} ${this.#renderList()}</div>
      <p class="sheet-foot">Results are kept for 10 minutes after the last request.</p>
      <div class="unseen" role="status">${this.status}</div>`;
  }

  #renderError() {
    const { error } = this.#watch;
    if (error === undefined) return nothing;
    return html`<p class="note note-error" role="alert">
      ${error.message} Retrying every second.
    </p>`;
  }

  #renderList() {
    const { records, error } = this.#watch;
    if (records === undefined) {
      return error === undefined ? html`<p class="note">Loading queries…</p>` : nothing;
    }
    if (records.length === 0) {
      return html`<div class="note">
        <p><strong>No running queries or stored results</strong></p>
        <p>Open a table or run a statement, here or in another program.</p>
      </div>`;
    }
    return html`<ul class="queries">
      ${records.map((record) => this.#renderRecord(record, records))}
    </ul>`;
  }

  #renderRecord(record: QueryRecord, all: readonly QueryRecord[]) {
    const { id, state, error } = record;
    const title = queryTitle(record, all);
    const address = queryAddress(record, all);
    const isDeleting = this.#deleting.has(id);
    const isStatement = record.request?.sql !== undefined;
    const className = isStatement ? "query-title code" : "query-title";
    return html`<li>
      <div class="query-about">
        ${
          address === undefined
            ? html`<span class=${className} title=${title}>${title}</span>`
            : html`<a
              class=${className}
              title=${title}
              href=${formatAddress(address)}
              @click=${(event: MouseEvent) => this.#open(event, record, address)}
              >${title}</a
            >`
        }
        <span class="query-facts"
          ><span class="query-state ${state}">${stateLabel(record)}</span>${queryDetails(
            record,
          ).map((fact) => html`<span>${fact}</span>`)}</span
        >
        ${error === null ? nothing : html`<span class="note-error">${error.message}; ${error.hint}</span>`}
        ${state === "running" ? renderBar(record, title) : nothing}
      </div>
      <button
        class="action"
        aria-label=${`${state === "running" ? "Cancel" : "Delete"} ${title}`}
        ?disabled=${isDeleting}
        @click=${() => this.#delete(record, title)}
      >
        ${state === "running" ? "Cancel" : "Delete"}
      </button>
    </li>`;
  }

  #summary(): string {
    const { records } = this.#watch;
    if (records === undefined) return "";
    const running = records.filter(({ state }) => state === "running").length;
    return `${running} running, ${records.length - running} ended`;
  }

  /** Goes to an address without loading the page again. */
  #open(event: MouseEvent, record: QueryRecord, address: Address): void {
    if (opensElsewhere(event)) return;
    event.preventDefault();
    this.#close();
    const { sql } = record.request ?? {};
    if (sql !== undefined && hasAllRows(record)) reuseResult(sql, record.id);
    this.shell.open(address);
  }

  async #delete({ id, state }: QueryRecord, title: string): Promise<void> {
    this.#deleting.add(id);
    this.requestUpdate();
    try {
      await deleteQuery(id);
      this.status = `${state === "running" ? "Cancelled" : "Deleted"}: ${title}`;
      this.#watch.records = this.#watch.records?.filter((record) => record.id !== id);
    } catch (thrown) {
      this.status = thrown instanceof Error ? thrown.message : String(thrown);
    }
    this.#deleting.delete(id);
    this.requestUpdate();
  }

  #close(): void {
    this.querySelector("dialog")?.close();
  }

  #onClose({ currentTarget }: Event): void {
    if ((currentTarget as HTMLDialogElement).open) return;
    this.isOpen = false;
    this.status = "";
    this.#watch.stop();
  }
}

function renderBar(record: QueryRecord, title: string) {
  const fraction = fractionOf(record);
  return html`<progress
    aria-label=${`Progress of ${title}`}
    max="1"
    value=${fraction ?? nothing}
  ></progress>`;
}
