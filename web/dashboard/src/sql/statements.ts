import { load, store } from "../shell/storage.js";

const KEY = "colonnade-statements";
const LAST_ID_KEY = "colonnade-last-statement";

/** A statement in a tab. */
export interface Statement {
  /** Its unique number, never reused. */
  readonly id: number;
  /** The name that the user gave it. */
  name: string | undefined;
  /** The editor's text. */
  text: string;
  /** The statement that was run last; empty before the first run. */
  ran: string;
}

/**
 * The open statements in the order of their tabs. The browser stores them together with those of
 * other windows, so each change writes only one statement.
 */
export class Statements {
  readonly #list: Statement[] = stored();
  #lastId = lastIdOf(this.#list);

  get list(): readonly Statement[] {
    return this.#list;
  }

  find(id: number | undefined): Statement | undefined {
    return this.#list.find((statement) => statement.id === id);
  }

  /** The label of its tab. */
  label({ id, name }: Statement): string {
    return name ?? `Query ${id}`;
  }

  /** Opens a tab after the others. */
  open(text: string, ran = ""): Statement {
    const id = Math.max(this.#lastId, lastIdOf(stored())) + 1;
    this.#lastId = id;
    store(LAST_ID_KEY, id);
    const statement = { id, name: undefined, text, ran };
    this.#list.push(statement);
    storeOne(statement);
    return statement;
  }

  /**
   * The tab for the statement of an address: the tab with that id, or one that has the statement.
   * Never replaces text that was not run.
   */
  tabFor(sql: string, id: number | undefined): Statement {
    const known = this.find(id) ?? this.#withSql(sql);
    if (known === undefined) return this.open(sql, sql);
    const { text, ran } = known;
    if (ran === sql) return known;
    const isKeptElsewhere = text.trim() === "" || text === ran;
    if (isKeptElsewhere && sql !== "") this.change(known.id, { text: sql, ran: sql });
    else if (text.includes(sql)) this.change(known.id, { ran: sql });
    else return this.#withSql(sql) ?? this.open(sql, sql);
    return known;
  }

  /** The tab in which a statement runs: the tab with that id if its text contains the statement. */
  run(sql: string, id: number | undefined): Statement {
    const known = this.find(id);
    if (!known?.text.includes(sql)) return this.tabFor(sql, id);
    this.change(known.id, { ran: sql });
    return known;
  }

  change(id: number, change: Partial<Omit<Statement, "id">>): void {
    const statement = this.find(id);
    if (statement === undefined) return;
    Object.assign(statement, change);
    storeOne(statement);
  }

  /** Closes a tab; returns the tab to select instead. */
  close(id: number): Statement | undefined {
    const index = this.#list.findIndex((statement) => statement.id === id);
    if (index >= 0) this.#list.splice(index, 1);
    store(
      KEY,
      stored().filter((statement) => statement.id !== id),
    );
    return this.#list[index] ?? this.#list[index - 1];
  }

  #withSql(sql: string): Statement | undefined {
    return this.#list.find(({ ran, text }) => (ran || text) === sql);
  }
}

function storeOne(statement: Statement): void {
  const list = stored();
  const index = list.findIndex(({ id }) => id === statement.id);
  list.splice(index < 0 ? list.length : index, 1, statement);
  store(KEY, list);
}

/** The largest id of any statement so far. */
function lastIdOf(list: readonly Statement[]): number {
  const lastId = load(LAST_ID_KEY);
  return Math.max(typeof lastId === "number" ? lastId : 0, ...list.map(({ id }) => id));
}

function stored(): Statement[] {
  const list = load(KEY);
  if (!Array.isArray(list)) return [];
  return list.flatMap(({ id, name, text, ran }: Partial<Statement>) => {
    const isValid = typeof id === "number" && typeof text === "string" && typeof ran === "string";
    return isValid && text.trim() !== "" ? [{ id, name, text, ran }] : [];
  });
}
