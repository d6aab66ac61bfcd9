import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { session } from "../server/session.js";
import type { Shell } from "../shell/shell.js";
import { load, store } from "../shell/storage.js";
import { copyToClipboard } from "../ui/clipboard.js";
import { cross, terminal } from "../ui/icons.js";
import { moveAmongTabs } from "../ui/tab-keys.js";
import { CODE_LANGUAGES, type CodeLanguage, codeFor } from "./fetch-code.js";
import { type ShownRows, shownRows } from "./shown-rows.js";

const KEY = "colonnade-code-language";
const LANGUAGES = Object.keys(CODE_LANGUAGES) as CodeLanguage[];

/** A button, and the dialog that it opens: code that fetches the shown rows, to be copied. */
export class CodeDialog extends LitElement {
  static override properties: PropertyDeclarations = {
    shell: { attribute: false },
    shown: { state: true },
    language: { state: true },
    limit: { state: true },
    isCopied: { state: true },
  };

  declare shell: Shell;
  /** The rows that the code fetches, or why there are none; read when the dialog opens. */
  declare shown: ShownRows | string | undefined;
  declare language: CodeLanguage;
  /** The largest number of rows, as typed; empty for all. */
  declare limit: string;
  declare isCopied: boolean;

  constructor() {
    super();
    this.language = LANGUAGES.find((language) => language === load(KEY)) ?? "pandas";
    this.limit = "";
    this.isCopied = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render() {
    return html`<button class="action" aria-haspopup="dialog" @click=${this.#open}>
        ${terminal}<span>Copy as code</span>
      </button>
      <dialog
        class="code-dialog"
        aria-labelledby="code-title"
        @click=${({ target, currentTarget }: Event) => {
          // A click on the backdrop has the dialog itself as its target.
          if (target === currentTarget) (currentTarget as HTMLDialogElement).close();
        }}
        @close=${({ currentTarget }: Event) => {
          if (!(currentTarget as HTMLDialogElement).open) this.shown = undefined;
        }}
      >
        ${this.shown === undefined ? nothing : this.#renderPanel(this.shown)}
      </dialog>`;
  }

  #renderPanel(shown: ShownRows | string) {
    return html`<div class="code-panel">
      <div class="code-head">
        <h2 id="code-title">Copy as code</h2>
        <button class="icon" aria-label="Close" @click=${() => this.querySelector("dialog")?.close()}>
          ${cross}
        </button>
      </div>
      ${typeof shown === "string" ? html`<p>${shown}</p>` : this.#renderCode(shown)}
    </div>`;
  }

  #renderCode(shown: ShownRows) {
    const text = this.#codeOf(shown);
    return html`<div class="tabs" role="tablist" aria-label="Languages">
        ${LANGUAGES.map(
          (language) => html`<button
            role="tab"
            class="tab"
            id=${`code-${language}`}
            aria-controls="code"
            aria-selected=${language === this.language}
            tabindex=${language === this.language ? 0 : -1}
            @click=${() => this.#choose(language)}
            @keydown=${moveAmongTabs}
          >
            ${CODE_LANGUAGES[language]}
          </button>`,
        )}
      </div>
      <pre
        id="code"
        role="tabpanel"
        tabindex="0"
        aria-labelledby=${`code-${this.language}`}
      ><code>${text}</code></pre>
      <div class="code-foot">
        <label
          >Limit<input
            type="text"
            inputmode="numeric"
            aria-label="Row limit"
            placeholder="all"
            size="9"
            .value=${this.limit}
            @input=${(event: InputEvent) => {
              const input = event.currentTarget as HTMLInputElement;
              input.value = input.value.replace(/\D/g, "").slice(0, 15);
              this.limit = input.value;
            }}
          />rows</label
        >
        <p class="minor">
          ${session.hasToken ? html`The code reads the token from the environment variable <code>COLONNADE_TOKEN</code>.` : nothing}
        </p>
        <span aria-live="polite">${this.isCopied ? "Copied" : ""}</span>
        <button class="primary" @click=${() => this.#copy(text)}>Copy</button>
      </div>`;
  }

  #codeOf({ rows, arrangement }: ShownRows): string {
    return codeFor(this.language, {
      origin: location.origin,
      rows,
      arrangement,
      limit: this.limit === "" ? undefined : Number(this.limit),
      hasToken: session.hasToken,
    });
  }

  async #open(): Promise<void> {
    void session.verify().then(() => this.requestUpdate());
    this.shown = await shownRows(this.shell);
    this.isCopied = false;
    await this.updateComplete;
    this.querySelector("dialog")?.showModal();
    this.querySelector<HTMLElement>(".code-foot .primary")?.focus();
  }

  #choose(language: CodeLanguage): void {
    this.language = language;
    this.isCopied = false;
    store(KEY, language);
  }

  async #copy(text: string): Promise<void> {
    this.isCopied = await copyToClipboard(text);
    const shown = this.querySelector("pre");
    if (!this.isCopied && shown !== null) getSelection()?.selectAllChildren(shown);
  }
}
