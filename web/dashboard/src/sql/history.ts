import { load, store } from "../storage.js";

const KEY = "colonnade-history";
const MAX_ENTRIES = 200;

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

/** The statements that were run, newest first; the browser keeps them. */
export class History {
  #entries: readonly HistoryEntry[] = loaded();

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /** Adds a statement that begins now. One that was run just before is not listed twice. */
  begin(sql: string, atMs = Date.now()): void {
    const others = this.#entries[0]?.sql === sql ? this.#entries.slice(1) : this.#entries;
    this.#keep([{ sql, atMs }, ...others]);
  }

  /** Says how the newest one ended, if it is this statement and that is not known yet. */
  end(sql: string, end: Pick<HistoryEntry, "elapsedMs" | "rows" | "error">): void {
    const [newest, ...others] = this.#entries;
    const isOpen = newest?.elapsedMs === undefined && newest?.error === undefined;
    if (isOpen && newest?.sql === sql) this.#keep([{ ...newest, ...end }, ...others]);
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

  #keep(entries: readonly HistoryEntry[]): void {
    this.#entries = entries.slice(0, MAX_ENTRIES);
    store(KEY, this.#entries);
  }
}

function loaded(): HistoryEntry[] {
  const entries = load(KEY);
  if (!Array.isArray(entries)) return [];
  return entries.filter(
    (entry: Partial<HistoryEntry> | null) =>
      typeof entry?.sql === "string" && typeof entry.atMs === "number",
  );
}
