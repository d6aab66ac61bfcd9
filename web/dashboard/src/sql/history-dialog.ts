import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { formatDuration, formatRows, formatWhen } from "../text/format.js";
import { cross } from "../ui/icons.js";
import type { History, HistoryEntry } from "./history.js";

/**
 * A dialog with the statements that were run.
 *
 * @fires choose - detail: the statement
 */
export class HistoryDialog extends LitElement {
  static override properties: PropertyDeclarations = {
    history: { attribute: false },
    filter: { state: true },
  };

  declare history: History;
  declare filter: string;

  constructor() {
    super();
    this.filter = "";
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** Opens the dialog. */
  async show(): Promise<void> {
    this.filter = "";
    this.requestUpdate();
    await this.updateComplete;
    this.querySelector("dialog")?.showModal();
  }

  protected override render() {
    const entries = this.history.matching(this.filter);
    return html`<dialog
      class="history"
      aria-label="History"
      @click=${(event: MouseEvent) => event.target === event.currentTarget && this.#close()}
    >
      <div class="dialog-head">
        <h2>History</h2>
        <input
          type="search"
          aria-label="Search history"
          placeholder="Search"
          .value=${this.filter}
          @input=${(event: InputEvent) => {
            this.filter = (event.currentTarget as HTMLInputElement).value;
          }}
        />
        <button class="icon" aria-label="Close" @click=${this.#close}>${cross}</button>
      </div>
      ${
        entries.length === 0
          ? html`<p class="note">${this.filter === "" ? "Statements that you run are listed here. They are stored in this browser only." : `No statement matches “${this.filter}”.`}</p>`
          : html`<ul>
              ${entries.map((entry) => this.#renderEntry(entry))}
            </ul>`
      }
      ${
        this.history.entries.length === 0
          ? nothing
          : html`<div class="dialog-foot">
              <button
                class="action"
                @click=${() => {
                  this.history.clear();
                  this.requestUpdate();
                }}
              >
                Clear history
              </button>
            </div>`
      }
    </dialog>`;
  }

  #renderEntry({ sql, atMs, elapsedMs, rows, error }: HistoryEntry) {
    const facts = [
      formatWhen(atMs),
      rows === undefined ? undefined : formatRows(rows),
      elapsedMs === undefined ? undefined : formatDuration(elapsedMs),
    ].filter((fact) => fact !== undefined);
    return html`<li>
      <button
        @click=${() => {
          this.#close();
          this.dispatchEvent(new CustomEvent("choose", { detail: sql }));
        }}
      >
        <code>${sql}</code>
        <span class="minor">${facts.join(" · ")}${error === undefined ? nothing : html` · <span class="note-error">${error}</span>`}</span>
      </button>
    </li>`;
  }

  #close(): void {
    this.querySelector("dialog")?.close();
  }
}
