import { html } from "lit";
import type { CatalogTable } from "../catalog/catalog.js";
import type { Place } from "../location.js";
import type { Navigation } from "../navigation.js";
import type { StatementTab } from "./statement-tabs.js";
import { type Statement, Statements } from "./statements.js";

/** The statements that are open, the one that is shown, and what runs it. */
export class StatementsControl {
  readonly #navigation: Navigation;
  readonly #onChange: () => void;
  readonly #statements = new Statements();
  #current: Statement | undefined;
  /** What was written while no statement was open: above a table, or before the first one. */
  #draft = "";
  #table: string | undefined;

  constructor(navigation: Navigation, onChange: () => void) {
    this.#navigation = navigation;
    this.#onChange = onChange;
  }

  /** What the shown tab is called; undefined for none. */
  get title(): string | undefined {
    return this.#table ?? (this.#current && this.#statements.label(this.#current));
  }

  get hasTabs(): boolean {
    return this.#tabs.length > 0;
  }

  /** Takes over what a place says of a statement. */
  arrive({ subject }: Place, id: number | undefined): void {
    const table = subject && "table" in subject ? subject.table : undefined;
    if (table !== this.#table || subject === undefined) this.#draft = "";
    this.#table = table;
    this.#current =
      subject && "sql" in subject ? this.#statements.arrive(subject.sql, id) : undefined;
  }

  /** Runs a statement: the one that is open, or one of its own. */
  run(sql: string): void {
    const current = this.#current ?? this.#statements.open(this.#draft || sql);
    this.#statements.change(current.id, { ran: sql });
    this.#navigation.go({ sql }, { statement: current.id });
  }

  /** Opens a statement in a tab of its own; it is not run. */
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
        this.#onChange();
      }}
      @new=${() => this.open("")}
    ></statement-tabs>`;
  }

  renderPanel(tables: readonly CatalogTable[], example: string) {
    return html`<sql-panel
      .text=${this.#current?.text ?? this.#draft}
      .example=${example}
      .tables=${tables}
      @edit=${(event: CustomEvent<string>) => this.#edit(event.detail)}
      @run=${(event: CustomEvent<string>) => this.run(event.detail)}
    ></sql-panel>`;
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

  #edit(text: string): void {
    if (this.#current === undefined) this.#draft = text;
    else this.#statements.change(this.#current.id, { text });
  }

  #choose(statement: Statement | undefined): void {
    if (statement === undefined || statement === this.#current) return;
    this.#navigation.go({ sql: statement.ran }, { statement: statement.id });
  }

  #close(id: number | undefined): void {
    const isCurrent = id === this.#current?.id;
    const next = id === undefined ? this.#statements.list[0] : this.#statements.close(id);
    if (!isCurrent) this.#onChange();
    else if (next === undefined) this.#navigation.go(undefined);
    else this.#navigation.go({ sql: next.ran }, { statement: next.id });
  }
}
