import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import type { CatalogTable } from "../catalog/catalog.js";
import type { SqlEditor } from "./sql-editor.js";

/** How people here write the shortcut that runs a statement. */
const SHORTCUT = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘ ↵" : "Ctrl ↵";

/**
 * The editor and what is done with its statement.
 *
 * @fires edit - detail: the text
 * @fires run - detail: the statement
 */
export class SqlPanel extends LitElement {
  static override properties: PropertyDeclarations = {
    text: { attribute: false },
    example: { attribute: false },
    tables: { attribute: false },
  };

  /** What stands in the editor. */
  declare text: string;
  /** What to show while it is empty. */
  declare example: string;
  /** What can be completed. */
  declare tables: readonly CatalogTable[];

  constructor() {
    super();
    this.text = "";
    this.example = "SELECT 1";
    this.tables = [];
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render() {
    const isEmpty = this.text.trim() === "";
    return html`<div class=${isEmpty ? "sql empty" : "sql"}>
      <sql-editor
        .text=${this.text}
        .placeholder=${this.example}
        @edit=${(event: CustomEvent<string>) => {
          this.text = event.detail;
          this.dispatchEvent(new CustomEvent("edit", { detail: event.detail }));
        }}
        @run=${(event: CustomEvent<string>) => this.#run(event.detail)}
      ></sql-editor>
      <div class="run">
        <kbd aria-hidden="true">${SHORTCUT}</kbd>
        <button class="primary" aria-disabled=${isEmpty ? "true" : nothing} @click=${() => this.#run(this.#editor.selected)}>
          Run
        </button>
      </div>
    </div>`;
  }

  get #editor(): SqlEditor {
    const editor = this.querySelector("sql-editor");
    if (editor === null) throw new Error("the panel is not rendered");
    return editor as SqlEditor;
  }

  #run(statement: string): void {
    if (statement.trim() === "") this.#editor.focus();
    else this.dispatchEvent(new CustomEvent("run", { detail: statement }));
  }
}
