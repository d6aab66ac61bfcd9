import { html, LitElement, type PropertyDeclarations, type PropertyValues } from "lit";
import type { CodeEditor, Diagnostic } from "./code-editor.js";
import type { KnownTables } from "./completion.js";
import { editorStyles } from "./editor-styles.js";

/** A range of the text, to be run. */
export interface StatementRange {
  sql: string;
  /** Its start, in UTF-16 units. */
  from: number;
}

/**
 * The editor of a statement: a plain text field, until the user writes and the code editor is loaded
 * and replaces it.
 *
 * @fires edit - detail: the text
 * @fires run - when {@link SqlEditor.statement} is to be run
 * @fires escape - when Escape was pressed and had no function in the editor
 */
export class SqlEditor extends LitElement {
  static override styles = editorStyles;
  static override properties: PropertyDeclarations = {
    text: { attribute: false },
    placeholder: { attribute: false },
    known: { attribute: false },
    diagnostic: { attribute: false },
  };

  declare text: string;
  /** The placeholder of an empty editor. */
  declare placeholder: string;
  /** The tables and columns for completion. */
  declare known: KnownTables;
  /** The error to underline. */
  declare diagnostic: Diagnostic | undefined;
  #editor: CodeEditor | undefined;
  #loaded: Promise<typeof import("./code-editor.js")> | undefined;
  #isComposing = false;

  constructor() {
    super();
    this.text = "";
    this.placeholder = "";
    this.known = { tables: [], current: undefined };
  }

  /** The selection, or all text if nothing is selected. */
  get statement(): StatementRange {
    const area = this.#area;
    const sql =
      this.#editor?.selected ?? area?.value.slice(area.selectionStart, area.selectionEnd) ?? "";
    if (sql.trim() === "") return { sql: this.text, from: 0 };
    return { sql, from: this.#editor?.selectedFrom ?? area?.selectionStart ?? 0 };
  }

  override focus(): void {
    if (this.#editor === undefined) this.#area?.focus();
    else this.#editor.focus();
  }

  protected override render() {
    if (this.#editor !== undefined) return this.#editor.dom;
    return html`<textarea
      aria-label="SQL"
      rows="1"
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      placeholder=${this.placeholder}
      .value=${this.text}
      @focus=${this.#load}
      @input=${(event: InputEvent) => this.#edit((event.currentTarget as HTMLTextAreaElement).value)}
      @compositionstart=${() => {
        this.#isComposing = true;
      }}
      @compositionend=${() => {
        this.#isComposing = false;
        void this.#load();
      }}
      @keydown=${this.#onKey}
    ></textarea>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    const editor = this.#editor;
    if (editor === undefined) {
      if (this.diagnostic !== undefined) void this.#load();
      return;
    }
    if (changed.has("text") && editor.text !== this.text) {
      editor.setText(this.text, this.placeholder);
    } else if (changed.has("placeholder")) {
      editor.setPlaceholder(this.placeholder);
    }
    if (changed.has("diagnostic")) editor.mark(this.diagnostic);
  }

  get #area(): HTMLTextAreaElement | null {
    return this.renderRoot.querySelector("textarea");
  }

  async #load(): Promise<void> {
    try {
      this.#loaded ??= import("./code-editor.js");
      const { CodeEditor } = await this.#loaded;
      this.#replace(CodeEditor);
    } catch {
      // The text field still works; loading is tried again when it is next focused.
      this.#loaded = undefined;
    }
  }

  /** Replaces the text field by the code editor. */
  #replace(Editor: typeof CodeEditor): void {
    const area = this.#area;
    if (area === null || this.#isComposing || !(this.renderRoot instanceof ShadowRoot)) return;
    const hadFocus = this.renderRoot.activeElement === area;
    this.#editor = new Editor({
      root: this.renderRoot,
      text: area.value,
      selection: { anchor: area.selectionStart, head: area.selectionEnd },
      placeholder: this.placeholder,
      known: () => this.known,
      onEdit: (text) => this.#edit(text),
      onRun: () => this.dispatchEvent(new Event("run")),
      onEscape: () => this.dispatchEvent(new Event("escape")),
    });
    this.#editor.mark(this.diagnostic);
    this.requestUpdate();
    this.performUpdate();
    if (hadFocus) this.#editor.focus();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Escape") this.dispatchEvent(new Event("escape"));
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.dispatchEvent(new Event("run"));
  }

  #edit(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.dispatchEvent(new CustomEvent("edit", { detail: text }));
  }
}
