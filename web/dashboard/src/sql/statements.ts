import { load, store } from "../shell/storage.js";

const KEY = "colonnade-statements";
const LAST_ID_KEY = "colonnade-last-statement";

/** A statement in a tab of its own. */
export interface Statement {
  /** Its number; never given twice. */
  readonly id: number;
  /** The name that somebody gave it. */
  name: string | undefined;
  /** What stands in the editor. */
  text: string;
  /** What was run last; empty before. */
  ran: string;
}

/**
 * The statements that are open, in the order of their tabs. The browser keeps them, together with
 * those that its other windows opened: what is stored is changed one statement at a time.
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

  /** What its tab is called. */
  label({ id, name }: Statement): string {
    return name ?? `Query ${id}`;
  }

  /** Opens a tab behind the others. */
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
   * The tab for a statement that an address brings: the one it was left in, or one that has it. Text
   * that was not run stays where it is.
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

  /** The tab that a statement is run in: this one where it is in its text or may take its place. */
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

  /** Closes a tab; answers which one takes its place. */
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

/** The largest number that a statement was given. */
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
