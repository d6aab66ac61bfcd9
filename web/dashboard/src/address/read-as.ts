import type { Predicate } from "colonnade";

// The name of a table whose columns are read in other ways, as the server takes it: `orders?types=Menge:number(,)`.

/** The name of the table, and how its columns are read, as in `types=` of the address; empty if as found. */
export function splitTypes(name: string): [table: string, types: string] {
  const [, table = name, types = ""] = /^(.+)\?types=([^&?]*)$/s.exec(name) ?? [];
  return [table, types.replace(/%(?:25|26|3F)/g, decodeURIComponent)];
}

/** The name that {@link splitTypes} splits. */
export function joinTypes(table: string, types: string): string {
  return types === "" ? table : `${table}?types=${types.replace(/[%&?]/g, encodeURIComponent)}`;
}

/** The ways in which columns are read, by their names, e.g. `number(,)`; without those that are as found. */
export function readingsOf(name: string): Map<string, string> {
  const items = splitTypes(name)[1].matchAll(/([^,]*):([^,:([]*(?:[([][^)\]]*[)\]])?)(?:,|$)/g);
  return new Map([...items].map(([, column = "", word = ""]) => [column, word]));
}

/** The name of the table with a column read in another way; undefined for as found. */
export function readAs(name: string, column: string, word: string | undefined): string {
  const readings = readingsOf(name);
  if (word === undefined) readings.delete(column);
  else readings.set(column, word);
  const types = [...readings].map((item) => item.join(":")).join(",");
  return joinTypes(splitTypes(name)[0], types);
}

/** A list of columns and their types, as in `types=`, with a column read in another way. */
export function withType(types: string, column: string, word: string): string {
  return splitTypes(readAs(joinTypes("table", types), column, word))[1];
}

/** Whether `types=` can name a column: it has no quotes. */
export function canReadAs(column: string): boolean {
  return !/[,()[\]]/.test(column);
}

/** The filter without its conditions on a column, which may not fit its other values. */
export function withoutColumn(filter: Predicate | null, column: string): Predicate | null {
  if (filter === null) return null;
  const name = `"column":${JSON.stringify(column)}`;
  const conjuncts = "and" in filter ? filter.and : [filter];
  const kept = conjuncts.filter((conjunct) => !JSON.stringify(conjunct).includes(name));
  return kept.length > 1 ? { and: kept } : (kept[0] ?? null);
}
