import { ColonnadeError, type ColonnadeViewer } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { withType } from "../address/read-as.js";
import { errorText } from "../server/response-error.js";
import { cross } from "../ui/icons.js";
import type { IncomingFile } from "./incoming-file.js";
import { nameForm } from "./name-form.js";
import { optionFields } from "./option-fields.js";
import { fetchPreview } from "./preview.js";
import { questionsOf, type ReadingQuestion, readingQuestions } from "./reading-questions.js";
import {
  optionsText,
  type TextOption,
  type TextOptions,
  trimList,
  withOption,
} from "./text-options.js";
import { tray } from "./tray.js";

/** The pause after a change before the preview is requested again, in ms. */
const PAUSE_MS = 300;

/** Summaries of the first rows would suggest that they are those of the file. */
const PREVIEW_STATE = { summaries: false };

/**
 * The dialog for the options of a text file's upload, with a preview of its first rows. It is opened
 * when it is connected.
 *
 * @fires closed - when the dialog was closed
 * @fires upload - when the user starts the upload; the file has the options
 */
export class UploadOptions extends LitElement {
  static override properties: PropertyDeclarations = {
    incoming: { attribute: false },
    theme: { attribute: false },
    options: { state: true },
    typed: { state: true },
    detected: { state: true },
    error: { state: true },
    rows: { state: true },
    questions: { state: true },
  };

  declare incoming: IncomingFile;
  /** The theme of the viewer of the preview. */
  declare theme: string;
  /** The options that the user changed. */
  declare options: TextOptions;
  /** The options for which another character than the listed ones is typed. */
  declare typed: ReadonlySet<TextOption>;
  /** What the server detected. */
  declare detected: TextOptions;
  /** Why there is no preview. */
  declare error: ColonnadeError | undefined;
  /** The response with the preview; null before it arrives. */
  declare rows: Response | null;
  /** The columns of the preview that have several readings. */
  declare questions: readonly ReadingQuestion[];
  #abort: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onTray = () => this.requestUpdate();

  constructor() {
    super();
    this.options = {};
    this.typed = new Set();
    this.detected = {};
    this.rows = null;
    this.questions = [];
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    tray.addEventListener("change", this.#onTray);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    tray.removeEventListener("change", this.#onTray);
    clearTimeout(this.#timer);
    this.#abort?.abort();
  }

  protected override firstUpdated(): void {
    this.options = this.incoming.options;
    this.querySelector("dialog")?.showModal();
    this.querySelector("select")?.focus();
    void this.#preview();
  }

  protected override render() {
    const { incoming, error = this.#uploadError } = this;
    return html`<dialog
      class="sheet upload-options"
      aria-labelledby="upload-options-title"
      @click=${(event: MouseEvent) => event.target === event.currentTarget && this.#close()}
      @close=${() => this.dispatchEvent(new Event("closed"))}
    >
      <div class="dialog-head">
        <h2 id="upload-options-title">Options of ${incoming.file.name}</h2>
        <button class="icon" aria-label="Close" @click=${() => this.#close()}>${cross}</button>
      </div>
      <div class="sheet-body">
        ${optionFields({
          fileType: incoming.fileType,
          options: this.options,
          detected: this.detected,
          typed: this.typed,
          choose: (key, value) => this.#choose(key, value),
          type: (key, value) => this.#change(key, value),
          typeCharacter: (key) => void this.#typeCharacter(key),
        })}
        <section aria-label="Preview">
          <h3>Preview <span class="minor">at most 100 rows of the first 256 KiB</span></h3>
          ${
            error === undefined
              ? nothing
              : html`<p class="tray-error" role="alert">${errorText(error)}</p>`
          }
          ${readingQuestions(this.questions, (column, word) => this.#read(column, word))}
          <colonnade-viewer
            density="compact"
            ?hidden=${this.error !== undefined}
            .theme=${this.theme}
            .state=${PREVIEW_STATE}
            .source=${this.rows}
            @colonnade-complete=${(event: Event) => void this.#ask(event.currentTarget as ColonnadeViewer)}
          ></colonnade-viewer>
          <div class="unseen" role="status">
            ${this.rows === null ? "" : `First rows, read with ${optionsText(this.detected)}`}
          </div>
        </section>
      </div>
      <div class="sheet-foot">
        ${nameForm(
          incoming,
          tray,
          html`<button type="button" @click=${() => this.#close()}>Cancel</button>`,
          () => this.#upload(),
        )}
      </div>
    </dialog>`;
  }

  #choose(key: TextOption, value: string | undefined): void {
    this.typed = new Set([...this.typed].filter((other) => other !== key));
    this.#change(key, value);
  }

  #change(key: TextOption, value: string | undefined): void {
    this.options = withOption(this.options, key, value);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#preview(), PAUSE_MS);
  }

  async #typeCharacter(key: TextOption): Promise<void> {
    this.#change(key, undefined);
    this.typed = new Set([...this.typed, key]);
    await this.updateComplete;
    this.querySelector<HTMLElement>(`.option input[data-option=${key}]`)?.focus();
  }

  /** Notes the columns of the preview that have several readings. */
  async #ask(viewer: ColonnadeViewer): Promise<void> {
    const { table } = viewer;
    if (table === undefined) return;
    const questions = await questionsOf(table).catch(() => []);
    if (table === viewer.table) this.questions = questions;
  }

  /** Reads a column in one of the ways that its values have. */
  #read(column: string, word: string): void {
    this.questions = this.questions.filter((question) => question.column !== column);
    this.#change("types", withType(trimList(this.options.types ?? ""), column, word));
    void this.updateComplete.then(() => {
      const next = this.querySelector<HTMLElement>(".question button");
      (next ?? this.querySelector<HTMLElement>("[data-option=types]"))?.focus();
    });
  }

  /** Why the upload failed, until an option is changed. */
  get #uploadError(): ColonnadeError | undefined {
    const { state, options } = this.incoming;
    return state.is === "failed" && this.options === options ? state.error : undefined;
  }

  /** The options as the server reads them. */
  get #sent(): TextOptions {
    const { null: words, types, ...others } = this.options;
    return {
      ...others,
      ...(words === undefined ? {} : { null: trimList(words) }),
      ...(types === undefined ? {} : { types: trimList(types) }),
    };
  }

  async #preview(): Promise<void> {
    const { file, fileType } = this.incoming;
    if (fileType === undefined) return;
    this.#abort?.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    try {
      const { rows, used } = await fetchPreview(file, fileType, this.#sent, signal);
      if (signal.aborted) return;
      this.detected = used;
      this.rows = rows;
      this.error = undefined;
    } catch (thrown) {
      if (signal.aborted) return;
      this.rows = null;
      this.questions = [];
      this.error = ColonnadeError.from(thrown, "network_error");
    }
  }

  #upload(): void {
    this.incoming.options = this.#sent;
    this.#close();
    this.dispatchEvent(new Event("upload"));
  }

  #close(): void {
    this.querySelector("dialog")?.close();
  }
}

customElements.define("upload-options", UploadOptions);
