import { load, store } from "../shell/storage.js";

const KEY = "colonnade-history";
const MAX_ENTRIES = 200;
/** The total length of stored statements, in UTF-16 units; browsers store about 5 million per origin. */
const MAX_LENGTH = 2 ** 20;

/** A statement that was run. */
export interface HistoryEntry {
  sql: string;
  /** The start, in ms since 1970. */
  atMs: number;
  /** The time until the last row, in ms; undefined unless it completed. */
  elapsedMs?: number | undefined;
  rows?: number | undefined;
  /** The code of its error. */
  error?: string | undefined;
}

/** The statements that were run in all windows, newest first; stored in the browser. */
export class History {
  #entries: readonly HistoryEntry[] = stored() ?? [];

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /** Adds a statement that starts now; replaces the latest entry if it is the same statement. */
  begin(sql: string, atMs = Date.now()): void {
    const known = this.#known;
    const others = known[0]?.sql === sql ? known.slice(1) : known;
    this.#keep([{ sql, atMs }, ...others]);
  }

  /** Records how the latest run of this statement ended, once. */
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

  /** The entries that contain every word of `filter`. */
  matching(filter: string): HistoryEntry[] {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    return this.#entries.filter(({ sql }) =>
      words.every((word) => sql.toLowerCase().includes(word)),
    );
  }

  /** The entries of all windows, if storage is on. */
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
