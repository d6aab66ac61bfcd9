import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import type { Shell } from "../shell/shell.js";
import { formatRows } from "../text/format.js";
import { download } from "../ui/icons.js";
import { EXPORT_FORMATS, type ExportFormat } from "./export.js";
import { placeBelow } from "./popover.js";
import { type ShownRows, shownRows } from "./shown-rows.js";
import { tray } from "./tray.js";

/** The button that exports the shown rows as a file, and its menu of formats. */
export class ExportMenu extends LitElement {
  static override properties: PropertyDeclarations = {
    shell: { attribute: false },
    shown: { state: true },
    escapesFormulas: { state: true },
  };

  declare shell: Shell;
  /** The rows to export, or why there are none; read when the menu opens. */
  declare shown: ShownRows | string | undefined;
  declare escapesFormulas: boolean;
  /** Whether the menu was open when the button was pressed, which closes it. */
  #wasOpen = false;

  constructor() {
    super();
    this.escapesFormulas = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render() {
    return html`<button
        class="action"
        aria-haspopup="dialog"
        @pointerdown=${() => {
          this.#wasOpen = this.#panel?.matches(":popover-open") === true;
        }}
        @click=${this.#open}
      >
        ${download}<span>Export</span>
      </button>
      <div class="menu-panel" popover role="dialog" aria-label="Export">${this.#renderChoice()}</div>`;
  }

  #renderChoice() {
    const { shown } = this;
    if (shown === undefined) return nothing;
    if (typeof shown === "string") return html`<p>${shown}</p>`;
    const { totalRows, name } = shown;
    return html`<p class="menu-about">
        ${totalRows === undefined ? "The shown rows" : formatRows(totalRows)} with the shown columns,
        filter and sort order, as <b>${name}</b>
      </p>
      <div class="menu-list">
        ${EXPORT_FORMATS.map(
          (format) => html`<button class="menu-item" @click=${() => this.#export(shown, format)}>
            <span>${format.label}</span><span class="minor">${format.about}</span>
          </button>`,
        )}
      </div>
      <label class="menu-check"
        ><input
          type="checkbox"
          .checked=${this.escapesFormulas}
          @change=${(event: Event) => {
            this.escapesFormulas = (event.currentTarget as HTMLInputElement).checked;
          }}
        /><span>Escape formulas in CSV<span class="minor">Puts ' before texts that spreadsheets would run</span></span></label
      >`;
  }

  get #panel(): HTMLElement | null {
    return this.querySelector("[popover]");
  }

  async #open(event: Event): Promise<void> {
    const wasOpen = this.#wasOpen;
    this.#wasOpen = false;
    const button = event.currentTarget as HTMLElement;
    const panel = this.#panel;
    if (wasOpen || panel === null) return;
    this.shown = await shownRows(this.shell);
    await this.updateComplete;
    panel.showPopover();
    placeBelow(panel, button);
    panel.querySelector<HTMLElement>(".menu-item")?.focus();
  }

  #export({ request, name, totalRows }: ShownRows, format: ExportFormat): void {
    this.#panel?.hidePopover();
    const { escapesFormulas } = this;
    void tray.export({ request, name, totalRows, format, escapesFormulas });
  }
}
