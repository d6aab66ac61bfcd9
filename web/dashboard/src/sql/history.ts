import { load, store } from "../shell/storage.js";

const KEY = "colonnade-history";
const MAX_ENTRIES = 200;
/** Of all statements together, in UTF-16 units: browsers keep about five million of a page. */
const MAX_LENGTH = 2 ** 20;

/** A statement that was run. */
export interface HistoryEntry {
  sql: string;
  /** When, in ms since 1970. */
  atMs: number;
  /** How long it took until the last row, in ms; undefined where it did not end well. */
  elapsedMs?: number | undefined;
  rows?: number | undefined;
  /** The code of the error that it ended with. */
  error?: string | undefined;
}

/** The statements that were run, newest first, in all windows; the browser keeps them. */
export class History {
  #entries: readonly HistoryEntry[] = stored() ?? [];

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /** Adds a statement that begins now. One that was run just before is not listed twice. */
  begin(sql: string, atMs = Date.now()): void {
    const known = this.#known;
    const others = known[0]?.sql === sql ? known.slice(1) : known;
    this.#keep([{ sql, atMs }, ...others]);
  }

  /** Says how this statement ended when it was last run, if that is not known yet. */
  end(sql: string, end: Pick<HistoryEntry, "elapsedMs" | "rows" | "error">): void {
    const known = [...this.#known];
    const index = known.findIndex((entry) => entry.sql === sql);
    const entry = known[index];
    if (entry === undefined || entry.elapsedMs !== undefined || entry.error !== undefined) return;
    known[index] = { ...entry, ...end };
    this.#keep(known);
  }

  clear(): void {
    this.#keep([]);
  }

  /** Those that hold every word of `filter`. */
  matching(filter: string): HistoryEntry[] {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    return this.#entries.filter(({ sql }) =>
      words.every((word) => sql.toLowerCase().includes(word)),
    );
  }

  /** Those of other windows too, where they can be stored. */
  get #known(): readonly HistoryEntry[] {
    return stored() ?? this.#entries;
  }

  #keep(entries: readonly HistoryEntry[]): void {
    let length = 0;
    this.#entries = entries.slice(0, MAX_ENTRIES).filter(({ sql }) => {
      length += sql.length;
      return length <= MAX_LENGTH;
    });
    store(KEY, this.#entries);
  }
}

function stored(): HistoryEntry[] | undefined {
  const entries = load(KEY);
  if (!Array.isArray(entries)) return undefined;
  return entries.filter(
    (entry: Partial<HistoryEntry> | null) =>
      typeof entry?.sql === "string" && typeof entry.atMs === "number",
  );
}
