/** What is shown, as the address bar says it. */
export type Shown = { table: string } | { sql: string } | undefined;

/** `?table=lineitem` or `?sql=SELECT…`. */
export function shownIn(search: string): Shown {
  const params = new URLSearchParams(search);
  const table = params.get("table");
  if (table) return { table };
  const sql = params.get("sql");
  if (sql) return { sql };
  return undefined;
}

/** The address that shows it. */
export function addressOf(shown: Shown): string {
  const params = new URLSearchParams(shown);
  return shown === undefined ? "/" : `/?${params}`;
}
