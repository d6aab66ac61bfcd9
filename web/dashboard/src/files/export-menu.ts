import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import type { Shell } from "../shell/shell.js";
import { formatRows } from "../text/format.js";
import { download } from "../ui/icons.js";
import { placeBelow } from "../ui/popover.js";
import { csvFields } from "./csv-fields.js";
import { type CsvOptions, loadCsvOptions, storeCsvOptions } from "./csv-options.js";
import { EXPORT_FORMATS, type ExportFormat } from "./export.js";
import { type RowsHere, rowsHere, type ShownRows, shownRows } from "./shown-rows.js";
import { tray } from "./tray.js";

/** The button that exports the shown rows as a file, and its menu of formats. */
export class ExportMenu extends LitElement {
  static override properties: PropertyDeclarations = {
    shell: { attribute: false },
    shown: { state: true },
    csv: { state: true },
  };

  declare shell: Shell;
  /** The rows to export, or why there are none; read when the menu opens. */
  declare shown: ShownRows | RowsHere | string | undefined;
  declare csv: CsvOptions;
  /** Whether the menu was open when the button was pressed, which closes it. */
  #wasOpen = false;

  constructor() {
    super();
    this.csv = loadCsvOptions();
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
    const isHere = "viewer" in shown;
    const rows = totalRows === undefined ? "The shown rows" : formatRows(totalRows);
    const why =
      isHere && shown.isPartial
        ? "The others did not arrive, so this tab writes the file."
        : "They are open in this tab only, which writes the file.";
    return html`<p class="menu-about">
        ${rows} with the shown columns, filter and sort order, as <b>${name}</b>.
        ${isHere ? why : nothing}
      </p>
      <div class="menu-list">
        ${EXPORT_FORMATS.map((format) => {
          const isServers = isHere && format.id === "parquet";
          return html`<button
            class="menu-item"
            ?disabled=${isServers}
            @click=${() => this.#export(shown, format)}
          >
            <span>${format.label}</span
            ><span class="minor">${isServers ? "Only the server can write it" : format.about}</span>
          </button>`;
        })}
      </div>
      ${csvFields(this.csv, (csv) => {
        this.csv = csv;
        storeCsvOptions(csv);
      })}`;
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
    this.shown = rowsHere(this.shell) ?? (await shownRows(this.shell));
    await this.updateComplete;
    panel.showPopover();
    placeBelow(panel, button);
    panel.querySelector<HTMLElement>(".menu-item:enabled")?.focus();
  }

  #export(shown: ShownRows | RowsHere, format: ExportFormat): void {
    this.#panel?.hidePopover();
    const { csv } = this;
    const { name, totalRows } = shown;
    const rows = "viewer" in shown ? shown.viewer : shown.request;
    void tray.export({ rows, name, totalRows, format, csv });
  }
}
