/** A name as SQL takes it: in double quotes unless it is plain. */
export function quotedName(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Items as one text, `a,"b,c"`: those with a comma or a quote are quoted as in SQL. */
export function listText(items: readonly string[]): string {
  return items
    .map((item) => (/^[^",]+$/.test(item) ? item : `"${item.replaceAll('"', '""')}"`))
    .join(",");
}

/** The items of such a text. */
export function parseList(text: string): string[] {
  const items = text.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  const names = [...items].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "");
  return text === "" ? [] : names;
}
