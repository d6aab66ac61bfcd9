// The CodeMirror editor. Loaded when the user first writes, or to show a diagnostic.

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
  completionStatus,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { codeHighlight, codeTheme } from "./code-theme.js";
import { completionSources, type KnownTables } from "./completion.js";
import { dialect } from "./dialect.js";

/** An error message for a range of a text; positions are in UTF-16 code units. */
export interface Diagnostic {
  from: number;
  to: number;
  message: string;
}

/** Options of an editor. */
export interface CodeEditorOptions {
  /** Takes the style sheets; in a document, CodeMirror would add a `<style>`, which the CSP forbids. */
  root: ShadowRoot;
  text: string;
  selection: { anchor: number; head: number };
  placeholder: string;
  /** The tables and columns for completion. */
  known: () => KnownTables;
  onEdit: (text: string) => void;
  onRun: () => void;
  onEscape: () => void;
}

/** An editor of SQL. */
export class CodeEditor {
  readonly #view: EditorView;
  readonly #extensions: Extension;
  readonly #placeholder = new Compartment();

  constructor(options: CodeEditorOptions) {
    const { root, text, selection, known, onEdit, onRun, onEscape } = options;
    const run = (view: EditorView) => {
      closeCompletion(view);
      onRun();
      return true;
    };
    const leave = () => {
      onEscape();
      return true;
    };
    this.#extensions = [
      Prec.highest(keymap.of([{ key: "Mod-Enter", run }])),
      keymap.of([
        // Tab accepts a completion if one is open; otherwise it moves the focus, as in any field.
        {
          key: "Tab",
          run: (view) => acceptCompletion(view) || completionStatus(view.state) !== null,
        },
        ...closeBracketsKeymap,
        ...completionKeymap,
        ...historyKeymap,
        ...lintKeymap,
        ...defaultKeymap,
        { key: "Escape", run: leave },
      ]),
      history(),
      closeBrackets(),
      bracketMatching(),
      dialect.extension,
      syntaxHighlighting(codeHighlight),
      autocompletion({ override: completionSources(known), icons: false, maxRenderedOptions: 60 }),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "SQL", autocapitalize: "off" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onEdit(update.state.doc.toString());
      }),
      EditorView.domEventHandlers({ beforeinput: replaceSelected }),
      codeTheme,
    ];
    this.#view = new EditorView({
      root,
      state: this.#stateOf(text, options.placeholder, selection),
    });
  }

  get dom(): HTMLElement {
    return this.#view.dom;
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** The selected text; empty if nothing is selected. */
  get selected(): string {
    const { from, to } = this.#view.state.selection.main;
    return this.#view.state.sliceDoc(from, to);
  }

  /** The start of the selection. */
  get selectedFrom(): number {
    return this.#view.state.selection.main.from;
  }

  focus(): void {
    this.#view.focus();
  }

  /** Replaces the text and clears the undo history. */
  setText(text: string, shownWhenEmpty: string): void {
    const end = { anchor: text.length, head: text.length };
    this.#view.setState(this.#stateOf(text, shownWhenEmpty, end));
  }

  setPlaceholder(text: string): void {
    this.#view.dispatch({ effects: this.#placeholder.reconfigure(placeholder(text)) });
  }

  /** Underlines a diagnostic; undefined removes it. */
  mark(diagnostic: Diagnostic | undefined): void {
    const { length } = this.#view.state.doc;
    const marks =
      diagnostic === undefined || diagnostic.to > length
        ? []
        : [{ ...diagnostic, severity: "error" as const }];
    this.#view.dispatch(setDiagnostics(this.#view.state, marks));
  }

  #stateOf(text: string, shownWhenEmpty: string, selection: { anchor: number; head: number }) {
    const extensions = [this.#extensions, this.#placeholder.of(placeholder(shownWhenEmpty))];
    return EditorState.create({ doc: text, selection, extensions });
  }
}

/**
 * Replaces the selection by typed text. The browser would keep the style of the first letter by an
 * inline style, which the CSP forbids.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const { data, inputType } = event;
  const { from, to, empty } = view.state.selection.main;
  if (inputType !== "insertText" || data === null || view.composing || empty) return false;
  event.preventDefault();
  const insert = () =>
    view.state.update(view.state.replaceSelection(data), { userEvent: "input.type" });
  const handlers = view.state.facet(EditorView.inputHandler);
  if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
  return true;
}
