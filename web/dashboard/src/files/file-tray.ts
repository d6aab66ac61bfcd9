import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { errorText } from "../server/response-error.js";
import type { Shell } from "../shell/shell.js";
import { cross } from "../ui/icons.js";
import { hasFiles } from "./dropped-files.js";
import { exportRow } from "./export-row.js";
import type { IncomingFile } from "./incoming-file.js";
import { incomingRow } from "./incoming-row.js";
import { localFile } from "./local-files.js";
import { tray } from "./tray.js";

/** The list of uploads and exports, and the drop target for files. */
export class FileTray extends LitElement {
  static override properties: PropertyDeclarations = {
    shell: { attribute: false },
    isDragged: { state: true },
    isOptionsLoaded: { state: true },
  };

  declare shell: Shell;
  /** Whether files are dragged over the page. */
  declare isDragged: boolean;
  /** Whether the code of the dialog for options is loaded. */
  declare isOptionsLoaded: boolean;
  /** The number of elements under the drag; a child is entered before its parent is left. */
  #depth = 0;
  readonly #onChange = () => {
    if (tray.optionsOf !== undefined && !this.isOptionsLoaded) void this.#loadOptions();
    this.requestUpdate();
  };

  constructor() {
    super();
    this.isDragged = false;
    this.isOptionsLoaded = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    tray.addEventListener("change", this.#onChange);
    addEventListener("dragenter", this.#onEnter);
    addEventListener("dragleave", this.#onLeave);
    addEventListener("dragover", this.#onOver);
    addEventListener("drop", this.#onDrop);
    addEventListener("beforeunload", this.#onUnload);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    tray.removeEventListener("change", this.#onChange);
    removeEventListener("dragenter", this.#onEnter);
    removeEventListener("dragleave", this.#onLeave);
    removeEventListener("dragover", this.#onOver);
    removeEventListener("drop", this.#onDrop);
    removeEventListener("beforeunload", this.#onUnload);
  }

  protected override firstUpdated(): void {
    const { subject } = this.shell.address;
    if (subject !== undefined && "file" in subject && localFile(subject.file) === undefined) {
      tray.note(
        `“${subject.file}” was open in this tab before the page was reloaded. Open it again.`,
      );
    }
  }

  protected override willUpdate(): void {
    const { shell } = this;
    tray.host = {
      showFile: (file) => shell.go({ file }),
      showTable: (table) => shell.go({ table }),
      reloadTables: () => shell.reloadTables(),
    };
  }

  protected override render() {
    return html`${this.isDragged ? this.#renderTarget() : nothing}
      ${tray.isEmpty ? nothing : this.#renderTray()} ${this.#renderOptions()}
      <div class="unseen" aria-live="polite">${this.#announcement}</div>`;
  }

  #renderTarget() {
    return html`<div class="drop-target" aria-hidden="true">
      <div>
        <strong>Drop files to open them</strong>
        <p>Arrow files open in this tab; nothing is sent to the server.</p>
        <p>Parquet, CSV, TSV, NDJSON and JSON files are uploaded as tables.</p>
      </div>
    </div>`;
  }

  #renderTray() {
    const named = tray.incoming.filter((incoming) => this.#canSend(incoming));
    return html`<section class="tray" aria-label="Files">
      <div class="tray-title">
        <h2>Files</h2>
        ${
          named.length < 2
            ? nothing
            : html`<button
                @click=${() => {
                  for (const incoming of named) void tray.send(incoming);
                }}
              >
                Upload all ${named.length}
              </button>`
        }
        <button class="icon" aria-label="Close the list of files" @click=${() => tray.clear()}>
          ${cross}
        </button>
      </div>
      <ul>
        ${[...tray.exports].reverse().map((item) => exportRow(item, tray))}
        ${tray.notes.map(
          (note) => html`<li class="tray-row"><p class="tray-error">${note}</p></li>`,
        )}
        ${tray.incoming.map((incoming) => incomingRow(incoming, tray))}
      </ul>
    </section>`;
  }

  #renderOptions() {
    const { optionsOf } = tray;
    if (optionsOf === undefined || !this.isOptionsLoaded) return nothing;
    return html`<upload-options
      .incoming=${optionsOf}
      .theme=${this.shell.viewer.theme}
      @closed=${() => tray.closeOptions()}
      @upload=${() => this.#upload(optionsOf)}
    ></upload-options>`;
  }

  async #loadOptions(): Promise<void> {
    try {
      await import("./upload-options.js");
      this.isOptionsLoaded = true;
    } catch {
      tray.closeOptions();
      tray.note("The options cannot be loaded. Is the server still running?");
    }
  }

  #upload(incoming: IncomingFile): void {
    // The button that opened the dialog is replaced by the progress of the upload.
    const index = tray.incoming.indexOf(incoming) - tray.incoming.length;
    [...this.querySelectorAll<HTMLElement>(".tray-row")].at(index)?.focus();
    void tray.send(incoming);
  }

  #canSend(incoming: IncomingFile): boolean {
    if (incoming.state.is !== "named" || tray.server === undefined) return false;
    return incoming.check(tray.server, tray.incoming).is === "free";
  }

  /** The outcome of the latest file, for screen readers. */
  get #announcement(): string {
    const [note] = tray.notes;
    const incoming = tray.incoming.at(-1);
    const item = tray.exports.at(-1);
    const texts = [
      note,
      incoming?.state.is === "refused" ? incoming.state.reason : undefined,
      incoming?.state.is === "named" ? `${incoming.file.name}: confirm the table name` : undefined,
      incoming?.state.is === "done" ? `${incoming.file.name} was uploaded` : undefined,
      incoming?.state.is === "failed" ? errorText(incoming.state.error) : undefined,
      item?.state.is === "done" ? `${item.fileName} was saved` : undefined,
      item?.state.is === "failed" ? errorText(item.state.error) : undefined,
    ];
    return texts.filter((text) => text !== undefined).join(". ");
  }

  readonly #onEnter = (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer)) return;
    this.#depth++;
    this.isDragged = true;
  };

  readonly #onLeave = (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer)) return;
    this.#depth = Math.max(0, this.#depth - 1);
    if (this.#depth === 0) this.isDragged = false;
  };

  readonly #onOver = (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer) || event.dataTransfer === null) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  };

  readonly #onDrop = (event: DragEvent) => {
    const { dataTransfer } = event;
    if (dataTransfer === null || !hasFiles(dataTransfer)) return;
    event.preventDefault();
    this.#depth = 0;
    this.isDragged = false;
    void tray.drop(dataTransfer);
  };

  readonly #onUnload = (event: BeforeUnloadEvent) => {
    if (tray.isSending) event.preventDefault();
  };
}
