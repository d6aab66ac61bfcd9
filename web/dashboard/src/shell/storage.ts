/** What was stored as JSON under `key`; undefined where there is nothing, or nothing can be stored. */
export function load(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores JSON; where that is not possible, what is known lasts as long as the page. */
export function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Storage is off or full.
  }
}
