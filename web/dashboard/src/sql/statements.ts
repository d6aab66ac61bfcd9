import { load, store } from "../storage.js";

const KEY = "colonnade-statements";

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

/** The statements that are open, in the order of their tabs; the browser keeps them. */
export class Statements {
  readonly #list: Statement[];

  constructor() {
    this.#list = loaded();
  }

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
    const taken = new Set(this.#list.map(({ id }) => id));
    let id = 1;
    while (taken.has(id)) id++;
    const statement = { id, name: undefined, text, ran };
    this.#list.push(statement);
    this.#store();
    return statement;
  }

  /** The tab for a statement that an address brings: the one it was left in, or one that has it. */
  arrive(sql: string, id: number | undefined): Statement {
    const known = this.find(id) ?? this.#list.find(({ ran, text }) => (ran || text) === sql);
    if (known === undefined) return this.open(sql, sql);
    if (known.ran !== sql) this.change(known.id, { text: sql, ran: sql });
    return known;
  }

  change(id: number, change: Partial<Omit<Statement, "id">>): void {
    const statement = this.find(id);
    if (statement === undefined) return;
    Object.assign(statement, change);
    this.#store();
  }

  /** Closes a tab; answers which one takes its place. */
  close(id: number): Statement | undefined {
    const index = this.#list.findIndex((statement) => statement.id === id);
    if (index >= 0) this.#list.splice(index, 1);
    this.#store();
    return this.#list[index] ?? this.#list[index - 1];
  }

  #store(): void {
    store(KEY, this.#list);
  }
}

function loaded(): Statement[] {
  const list = load(KEY);
  if (!Array.isArray(list)) return [];
  return list.flatMap(({ id, name, text, ran }: Partial<Statement>) => {
    const isSound = typeof id === "number" && typeof text === "string" && typeof ran === "string";
    return isSound && text.trim() !== "" ? [{ id, name, text, ran }] : [];
  });
}
