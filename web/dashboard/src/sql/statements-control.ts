import type { ColonnadeViewer } from "colonnade";
import { html } from "lit";
import type { Address, RowsState, Subject, View } from "../address/address.js";
import type { Navigation } from "../address/navigation.js";
import { splitTypes } from "../address/read-as.js";
import type { CatalogTable } from "../catalog/catalog.js";
import { listen } from "../shell/viewer-events.js";
import type { Diagnostic } from "./code-editor.js";
import { diagnosticOf } from "./error-position.js";
import { History } from "./history.js";
import type { HistoryDialog } from "./history-dialog.js";
import type { PlanPanel } from "./plan-panel.js";
import type { StatementRange } from "./sql-editor.js";
import type { SqlPanel } from "./sql-panel.js";
import type { StatementTab } from "./statement-tabs.js";
import { type Statement, Statements } from "./statements.js";

/** What the page does for its statements. */
export interface StatementsHost {
  /** The page has to be rendered again. */
  onChange(): void;
  /** The running statement is to be cancelled. */
  onStop(): void;
  /** No tab has this statement any more. */
  onClose(sql: string): void;
}

/** Controls the open statements: their tabs, the editor, the history and running them. */
export class StatementsControl {
  readonly #navigation: Navigation;
  readonly #host: StatementsHost;
  readonly #statements = new Statements();
  readonly #history = new History();
  #current: Statement | undefined;
  /** The text written while no statement was open. */
  #draft = "";
  #table: string | undefined;
  /** The positions of errors, by the statements that were run. */
  readonly #diagnostics = new Map<string, Diagnostic>();
  /** The start of the last run range in its text. */
  #ranFrom = 0;

  constructor(navigation: Navigation, host: StatementsHost) {
    this.#navigation = navigation;
    this.#host = host;
  }

  /** Records how a statement ends whose rows a viewer shows. */
  follow(viewer: ColonnadeViewer, sql: string): void {
    listen(viewer, "colonnade-complete", ({ rows, elapsedMs }) => {
      this.#history.end(sql, { rows, elapsedMs });
      this.#host.onChange();
    });
    listen(viewer, "colonnade-error", (error) => {
      this.#history.end(sql, { error: error.code });
      const text = this.#statements.list.find(({ ran }) => ran === sql)?.text ?? sql;
      const diagnostic = diagnosticOf(text, sql, error, this.#ranFrom);
      if (diagnostic !== undefined) this.#diagnostics.set(sql, diagnostic);
      this.#host.onChange();
    });
  }

  /** The label of the selected tab; undefined for none. */
  get title(): string | undefined {
    return this.#table ?? (this.#current && this.#statements.label(this.#current));
  }

  /** The id of the selected statement's tab. */
  get id(): number | undefined {
    return this.#current?.id;
  }

  get hasTabs(): boolean {
    return this.#tabs.length > 0;
  }

  /** Selects the tab of an address, whose statement runs if `isRun`. */
  show({ subject, view }: Address, isRun: boolean, id: number | undefined): void {
    const table = titleOf(subject);
    if (table === undefined || table !== this.#table) this.#openDraft();
    this.#table = table;
    this.#current =
      subject && "sql" in subject ? this.#statements.tabFor(subject.sql, id) : undefined;
    const sql = this.#current?.ran ?? "";
    if (isRun) this.#diagnostics.delete(sql);
    if (isRun && view === "rows" && sql.trim() !== "") this.#history.begin(sql);
  }

  /** Runs or explains a statement, in the selected tab or a new one. */
  run(sql: string, view: View = "rows"): void {
    const shown = this.#current ?? this.#openDraft();
    const { id } = this.#statements.run(sql, shown?.id);
    this.#navigation.go({ sql }, { view, statement: id });
  }

  /** Runs a statement in a new tab, and shows its rows in a state. */
  runInNewTab(sql: string, state: RowsState): void {
    this.#openDraft();
    const { id } = this.#statements.open(sql, sql);
    this.#navigation.go({ sql }, { statement: id, state });
  }

  /** Opens a statement in a new tab without running it. */
  open(text: string): void {
    this.#choose(this.#statements.open(text));
  }

  renderTabs() {
    const tabs = this.#tabs;
    const current =
      this.#table === undefined ? tabs.findIndex(({ id }) => id === this.#current?.id) : 0;
    return html`<statement-tabs
      .tabs=${tabs}
      .current=${current}
      @choose=${(event: CustomEvent<number | undefined>) => this.#choose(this.#statements.find(event.detail))}
      @close=${(event: CustomEvent<number | undefined>) => this.#close(event.detail)}
      @rename=${(event: CustomEvent<{ id: number; name: string }>) => {
        const { id, name } = event.detail;
        this.#statements.change(id, { name: name || undefined });
        this.#host.onChange();
      }}
      @new=${() => this.open("")}
    ></statement-tabs>`;
  }

  renderPanel(tables: readonly CatalogTable[], example: string, isRunning: boolean) {
    const known = { tables, current: this.#table };
    return html`<sql-panel
        .text=${this.#current?.text ?? this.#draft}
        .example=${example}
        .known=${known}
        .diagnostic=${this.#diagnostics.get(this.#current?.ran ?? "")}
        .isRunning=${isRunning}
        @edit=${(event: CustomEvent<string>) => this.#edit(event.detail)}
        @run=${(event: CustomEvent<StatementRange>) => this.#runRange(event.detail, "rows")}
        @explain=${(event: CustomEvent<StatementRange>) => this.#runRange(event.detail, "plan")}
        @stop=${() => {
          document.querySelector<PlanPanel>("plan-panel")?.cancel();
          this.#host.onStop();
        }}
        @history=${() => document.querySelector<HistoryDialog>("history-dialog")?.show()}
      ></sql-panel>
      <history-dialog
        .history=${this.#history}
        @choose=${(event: CustomEvent<string>) => this.#write(event.detail)}
      ></history-dialog>`;
  }

  get #tabs(): StatementTab[] {
    const table = this.#table;
    const first = table === undefined ? [] : [{ id: undefined, label: table, title: table }];
    const statements = this.#statements.list.map((statement) => ({
      id: statement.id,
      label: this.#statements.label(statement),
      title: statement.text,
    }));
    return [...first, ...statements];
  }

  /** Moves the draft into a new tab; undefined if it is empty. */
  #openDraft(): Statement | undefined {
    const draft = this.#draft;
    this.#draft = "";
    return draft.trim() === "" ? undefined : this.#statements.open(draft);
  }

  #runRange({ sql, from }: StatementRange, view: View): void {
    this.#ranFrom = from;
    this.run(sql, view);
  }

  #edit(text: string): void {
    if (this.#current === undefined) this.#draft = text;
    else this.#statements.change(this.#current.id, { text });
    this.#host.onChange();
  }

  /** Puts a statement into an empty editor, or into a new tab. */
  #write(sql: string): void {
    const text = this.#current?.text ?? this.#draft;
    if (text.trim() === "" || text === sql) this.#edit(sql);
    else this.open(sql);
    document.querySelector<SqlPanel>("sql-panel")?.focus();
  }

  #choose(statement: Statement | undefined): void {
    if (statement === undefined || statement === this.#current) return;
    this.#navigation.return({ sql: statement.ran }, statement.id);
  }

  #close(id: number | undefined): void {
    const isCurrent = id === this.#current?.id;
    const ran = this.#statements.find(id)?.ran;
    const next = id === undefined ? this.#statements.list[0] : this.#statements.close(id);
    if (!isCurrent) this.#host.onChange();
    else if (next === undefined) this.#navigation.go(undefined);
    else this.#navigation.return({ sql: next.ran }, next.id);
    const isElsewhere = this.#statements.list.some((other) => other.ran === ran);
    if (ran !== undefined && !isElsewhere) this.#host.onClose(ran);
  }
}

/** The name of a table or file; undefined for a statement. */
function titleOf(subject: Subject): string | undefined {
  if (subject === undefined || "sql" in subject) return undefined;
  return "table" in subject ? splitTypes(subject.table)[0] : subject.file;
}
