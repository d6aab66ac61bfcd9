/** A name as an SQL identifier, in double quotes. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as an SQL string literal. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Words that the server's SQL does not take as the name of a column or a table. */
const RESERVED =
  /^(?:all|cube|current_(?:date|time|timestamp)|distinct|exists|false|from|interval|lateral|not|null|rollup|struct|table|trim|true|unnest)$/i;

/** A name as an SQL identifier, in double quotes only if it needs them. */
export function quoteNameIfNeeded(name: string): string {
  const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.test(name);
  return isPlain ? name : quoteName(name);
}

/** Joins items to one text, `a,"b,c"`; items with a comma or a quote are quoted as in SQL. */
export function formatList(items: readonly string[]): string {
  return items.map((item) => (/^[^",]+$/.test(item) ? item : quoteName(item))).join(",");
}

/** Splits a text of {@link formatList} into its items. */
export function parseList(text: string): string[] {
  const items = text.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  const names = [...items].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "");
  return text === "" ? [] : names;
}
