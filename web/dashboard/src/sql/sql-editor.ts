import { html, LitElement, type PropertyDeclarations, type PropertyValues } from "lit";
import { editorStyles } from "./editor-styles.js";

/**
 * Where a statement is written.
 *
 * @fires edit - detail: the text
 * @fires run - detail: what is to be run: the selection, or all
 */
export class SqlEditor extends LitElement {
  static override styles = editorStyles;
  static override properties: PropertyDeclarations = {
    text: { attribute: false },
    placeholder: { attribute: false },
  };

  declare text: string;
  /** What stands there while there is no text. */
  declare placeholder: string;

  constructor() {
    super();
    this.text = "";
    this.placeholder = "";
  }

  /** What is selected, or all where nothing is. */
  get selected(): string {
    const { value, selectionStart, selectionEnd } = this.#area;
    return value.slice(selectionStart, selectionEnd).trim() === ""
      ? value
      : value.slice(selectionStart, selectionEnd);
  }

  override focus(): void {
    this.#area.focus();
  }

  protected override render() {
    return html`<textarea
      aria-label="SQL"
      rows="1"
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      placeholder=${this.placeholder}
      .value=${this.text}
      @input=${(event: InputEvent) => this.#tell((event.currentTarget as HTMLTextAreaElement).value)}
      @keydown=${this.#onKey}
    ></textarea>`;
  }

  protected override updated(_changed: PropertyValues<this>): void {}

  get #area(): HTMLTextAreaElement {
    const area = this.renderRoot.querySelector("textarea");
    if (area === null) throw new Error("the editor is not rendered");
    return area;
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.dispatchEvent(new CustomEvent("run", { detail: this.selected }));
  }

  #tell(text: string): void {
    this.text = text;
    this.dispatchEvent(new CustomEvent("edit", { detail: text }));
  }
}
