import type { HeaderMark } from "../grid/header.js";
import type { Arrangement, SortKey } from "../model/arrangement.js";
import { type Field, isSortableType } from "../model/schema.js";
import { columnsOf } from "./filters.js";

/**
 * The sort keys after a click on a header, which cycles through ascending, descending and none. Without
 * `isAdded` its column becomes the only key; with it the others stay, and a new key comes last.
 */
export function toggledSort(
  keys: readonly SortKey[],
  column: string,
  isAdded: boolean,
): readonly SortKey[] {
  const found = keys.find((key) => key.column === column);
  const isAlone = keys.length === 1;
  if (!isAdded) {
    if (found === undefined || !isAlone) return [{ column, descending: false }];
    return found.descending ? [] : [{ column, descending: true }];
  }
  if (found === undefined) return [...keys, { column, descending: false }];
  if (found.descending) return keys.filter((key) => key !== found);
  return keys.map((key) => (key === found ? { column, descending: true } : key));
}

/** An arrangement as text: `sorted by l_quantity descending, l_tax, filtered by l_shipmode`. */
export function describe({ sort, filter }: Arrangement): string {
  const keys = sort.map(({ column, descending }) => `${column}${descending ? " descending" : ""}`);
  const columns = [...columnsOf(filter)];
  return [
    ...(keys.length > 0 ? [`sorted by ${keys.join(", ")}`] : []),
    ...(filter ? [columns.length > 0 ? `filtered by ${columns.join(", ")}` : "filtered"] : []),
  ].join(", ");
}

/** The marks in the headers for an arrangement. */
export function headerMarks(
  fields: readonly Field[],
  { sort, filter }: Arrangement,
): readonly HeaderMark[] {
  const filtered = columnsOf(filter);
  return fields.map(({ name, type }) => {
    const index = sort.findIndex(({ column }) => column === name);
    const direction = sort[index]?.descending ? "descending" : "ascending";
    return {
      direction: index < 0 ? undefined : direction,
      priority: index >= 0 && sort.length > 1 ? index + 1 : undefined,
      isFiltered: filtered.has(name),
      canSort: isSortableType(type),
    };
  });
}
