import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { clock } from "../ui/icons.js";
import type { Diagnostic } from "./code-editor.js";
import type { KnownTables } from "./completion.js";
import type { SqlEditor } from "./sql-editor.js";

/** The platform's notation of the shortcut that runs a statement. */
const SHORTCUT = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘ ↵" : "Ctrl ↵";

/**
 * The editor with its buttons: history, explain and run.
 *
 * @fires edit - detail: the text
 * @fires run - detail: the {@link StatementRange}
 * @fires explain - detail: the {@link StatementRange}
 * @fires stop - when the running statement is to be cancelled
 * @fires history - when the history is to be opened
 */
export class SqlPanel extends LitElement {
  static override properties: PropertyDeclarations = {
    text: { attribute: false },
    example: { attribute: false },
    known: { attribute: false },
    diagnostic: { attribute: false },
    isRunning: { attribute: false },
  };

  /** The editor's text. */
  declare text: string;
  /** The placeholder of an empty editor. */
  declare example: string;
  /** The tables and columns for completion. */
  declare known: KnownTables;
  declare diagnostic: Diagnostic | undefined;
  /** Whether a statement runs; then the button Run is Cancel. */
  declare isRunning: boolean;

  constructor() {
    super();
    this.isRunning = false;
    this.text = "";
    this.example = "SELECT 1";
    this.known = { tables: [], current: undefined };
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render() {
    const { isRunning } = this;
    const isEmpty = this.text.trim() === "";
    return html`<div class=${isEmpty ? "sql empty" : "sql"}>
      <sql-editor
        .text=${this.text}
        .placeholder=${this.example}
        .known=${this.known}
        .diagnostic=${this.diagnostic}
        @edit=${(event: CustomEvent<string>) => {
          this.text = event.detail;
          this.dispatchEvent(new CustomEvent("edit", { detail: event.detail }));
        }}
        @run=${() => this.#dispatchStatement("run")}
        @escape=${() => this.dispatchEvent(new Event("stop"))}
      ></sql-editor>
      <div class="run">
        <button
          class="icon"
          aria-label="History"
          title="History"
          @click=${() => this.dispatchEvent(new Event("history"))}
        >
          ${clock}
        </button>
        <button
          class="action"
          aria-disabled=${isEmpty ? "true" : nothing}
          title="Show the query plan"
          @click=${() => this.#dispatchStatement("explain")}
        >
          Explain
        </button>
        <button
          class="primary"
          aria-disabled=${isEmpty && !isRunning ? "true" : nothing}
          title=${isRunning ? "Cancel the statement (Esc)" : `Run the selection or the whole text (${SHORTCUT})`}
          @click=${() =>
            isRunning ? this.dispatchEvent(new Event("stop")) : this.#dispatchStatement("run")}
        >
          ${isRunning ? "Cancel" : "Run"}
        </button>
      </div>
    </div>`;
  }

  override focus(): void {
    this.#editor.focus();
  }

  get #editor(): SqlEditor {
    const editor = this.querySelector("sql-editor");
    if (editor === null) throw new Error("the panel is not rendered");
    return editor as SqlEditor;
  }

  #dispatchStatement(type: "run" | "explain"): void {
    const detail = this.#editor.statement;
    if (detail.sql.trim() === "") this.#editor.focus();
    else this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
