import { html, LitElement, nothing, type PropertyDeclarations } from "lit";

/** How people here write the shortcut that runs a statement. */
const SHORTCUT = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘ ↵" : "Ctrl ↵";

/**
 * A statement to write and run.
 *
 * @fires run - detail: the statement
 */
export class SqlBox extends LitElement {
  static override properties: PropertyDeclarations = {
    sql: { attribute: false },
    example: { attribute: false },
    isEmpty: { state: true },
  };

  /** The statement in the box. */
  declare sql: string;
  /** What to show while the box is empty. */
  declare example: string;
  declare isEmpty: boolean;

  constructor() {
    super();
    this.sql = "";
    this.example = "SELECT 1";
    this.isEmpty = true;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override willUpdate(): void {
    this.isEmpty = this.sql.trim() === "";
  }

  protected override render() {
    return html`<form class="sql" @submit=${this.#onSubmit}>
      <textarea
        aria-label="SQL"
        rows="3"
        placeholder=${this.example}
        autocomplete="off"
        autocapitalize="off"
        spellcheck="false"
        .value=${this.sql}
        @input=${(event: InputEvent) => {
          this.sql = (event.currentTarget as HTMLTextAreaElement).value;
        }}
        @keydown=${this.#onKey}
      ></textarea>
      <div class="run">
        <kbd aria-hidden="true">${SHORTCUT}</kbd>
        <button class="primary" aria-disabled=${this.isEmpty ? "true" : nothing}>Run</button>
      </div>
    </form>`;
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.#run();
  }

  #onSubmit(event: SubmitEvent): void {
    event.preventDefault();
    this.#run();
  }

  #run(): void {
    if (this.isEmpty) this.querySelector("textarea")?.focus();
    else this.dispatchEvent(new CustomEvent("run", { detail: this.sql }));
  }
}
