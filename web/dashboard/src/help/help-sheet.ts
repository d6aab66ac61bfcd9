import type { ColonnadeViewer } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import type { QueriesPanel } from "../queries/queries-panel.js";
import { formatDuration } from "../text/format.js";
import { cross, help } from "../ui/icons.js";
import { firstRowsMs, watchFirstRows } from "./first-rows.js";
import {
  areSingleKeysOn,
  type PageKey,
  pageKeyOf,
  type Shortcut,
  setSingleKeys,
  shortcutGroups,
} from "./shortcuts.js";

/** A button, and the dialog that it opens: the keyboard shortcuts and the load time of the page. */
export class HelpSheet extends LitElement {
  static override properties: PropertyDeclarations = {
    viewer: { attribute: false },
    isOpen: { state: true },
  };

  /** The viewer of the rows. */
  declare viewer: ColonnadeViewer;
  declare isOpen: boolean;
  readonly #keys: readonly PageKey[] = [
    { key: "?", does: "Show the keyboard shortcuts", act: () => void this.show() },
    { key: "/", does: "Filter tables", act: () => focusIn("tables-list input") },
    { key: "s", does: "Go to the SQL editor", act: () => focusIn("sql-editor") },
    { key: "r", does: "Go to the rows", act: () => this.viewer.focus() },
    { key: "q", does: "Show the queries", act: showQueries },
  ];
  readonly #onKey = (event: KeyboardEvent) => {
    const found = pageKeyOf(event, this.#keys);
    if (found === undefined) return;
    event.preventDefault();
    found.act();
  };

  constructor() {
    super();
    this.isOpen = false;
  }

  /** Opens the dialog. */
  async show(): Promise<void> {
    this.isOpen = true;
    await this.updateComplete;
    const dialog = this.querySelector("dialog");
    if (!dialog?.open) dialog?.showModal();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.#onKey);
    watchFirstRows(this.viewer, () => this.requestUpdate());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.#onKey);
  }

  protected override render() {
    return html`<button
        class="icon"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts"
        aria-haspopup="dialog"
        @click=${() => this.show()}
      >
        ${help}
      </button>
      <dialog
        class="sheet help"
        aria-labelledby="help-title"
        @click=${(event: MouseEvent) => event.target === event.currentTarget && this.#close()}
        @close=${({ currentTarget }: Event) => {
          if (!(currentTarget as HTMLDialogElement).open) this.isOpen = false;
        }}
      >
        ${this.isOpen ? this.#renderSheet() : nothing}
      </dialog>`;
  }

  #renderSheet() {
    return html`<div class="dialog-head">
        <h2 id="help-title">Keyboard shortcuts</h2>
        <button
          class="icon"
          aria-label="Close"
          @click=${() => this.#close()}
        >
          ${cross}
        </button>
      </div>
      <div class="sheet-body groups" tabindex="0">
        ${shortcutGroups(this.#keys).map(
          ({ title, shortcuts }) =>
            html`<section>
              <h3>${title}</h3>
              <dl>${shortcuts.map(renderShortcut)}</dl>
            </section>`,
        )}
      </div>
      <div class="sheet-foot">
        <label
          ><input
            type="checkbox"
            .checked=${areSingleKeysOn()}
            @change=${(event: Event) =>
              setSingleKeys((event.currentTarget as HTMLInputElement).checked)}
          />
          Enable single-key shortcuts</label
        >
        <span>${this.#about()}</span>
      </div>`;
  }

  #close(): void {
    this.querySelector("dialog")?.close();
  }

  #about(): string {
    const ms = firstRowsMs();
    return ms === undefined
      ? ""
      : `First rows shown ${formatDuration(ms)} after the page was requested`;
  }
}

function renderShortcut({ keys, does }: Shortcut) {
  return html`<div>
    <dt>${keys.map((key, index) => html`${index > 0 ? " " : nothing}<kbd>${key}</kbd>`)}</dt>
    <dd>${does}</dd>
  </div>`;
}

/** Focuses an element; opens the list of tables first if the page is narrow and hides it. */
function focusIn(selector: string): void {
  const element = document.querySelector<HTMLElement>(selector);
  if (element !== null && !element.checkVisibility()) {
    document.querySelector<HTMLElement>("button.menu[aria-expanded=false]")?.click();
  }
  requestAnimationFrame(() => element?.focus());
}

function showQueries(): void {
  void document.querySelector<QueriesPanel>("queries-panel")?.show();
}
