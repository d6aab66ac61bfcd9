import type { SortKey, UrlSource } from "./messages.js";
import { type Predicate, predicateJson } from "./predicate.js";
import { queryUrl } from "./query.js";

/** Which rows of a table are wanted, and in which order. */
export interface Arrangement {
  /** The keys, the most important first; none for the order of the source. */
  sort: readonly SortKey[];
  /** True for the rows that are wanted; null for all. */
  filter: Predicate | null;
}

/** All rows in the order of the source. */
export const UNARRANGED: Arrangement = { sort: [], filter: null };

/** Whether it is all rows in the order of the source. */
export function isUnarranged({ sort, filter }: Arrangement): boolean {
  return sort.length === 0 && filter === null;
}

/** Whether two arrangements ask for the same. */
export function isSameArrangement(one: Arrangement, other: Arrangement): boolean {
  return arrangementJson(one) === arrangementJson(other);
}

/**
 * The request for the rows of another one, arranged by the server; undefined where its source is
 * not a Colonnade server's. A table is asked for by its name; rows that are themselves filtered,
 * sorted, cut or a statement's are asked for by their id, which the server must still know. All
 * columns of the source, or those that are named.
 */
export function arrangedRequest(
  source: UrlSource,
  arrangement: Arrangement,
  columns?: readonly string[],
): Request | undefined {
  const { query } = source;
  const base = query && queryUrl(source.url, query.id);
  if (query === undefined || base === undefined) return undefined;
  const rows = { ...(plainTable(source) ?? { query: query.id }), ...(columns && { columns }) };
  const body = `{${JSON.stringify(rows).slice(1, -1)},${arrangementJson(arrangement).slice(1)}`;
  const headers = new Headers(source.headers);
  headers.set("content-type", "application/json");
  return new Request(base.slice(0, base.lastIndexOf("/")), {
    method: "POST",
    headers,
    credentials: source.credentials,
    body,
  });
}

function arrangementJson({ sort, filter }: Arrangement): string {
  const keys = sort.map(({ column, descending }) => ({ column, descending: descending === true }));
  const where = filter === null ? "" : `,"filter":${predicateJson(filter)}`;
  return `{"sort":${JSON.stringify(keys)}${where}}`;
}

/** A whole table and some of its columns, where that is all that a request asks for. */
function plainTable(source: UrlSource): { table: string; columns?: string[] } | undefined {
  const { pathname, searchParams } = new URL(source.url);
  const name = /\/v1\/tables\/([^/]+)\/rows$/.exec(pathname)?.[1];
  if (name === undefined || source.method !== "GET") return undefined;
  if (["filter", "sort", "offset", "limit"].some((key) => searchParams.has(key))) return undefined;
  const columns = searchParams.get("columns");
  // Lists with quoted names are the server's to read.
  if (columns?.includes('"')) return undefined;
  const table = decodeURIComponent(name);
  return columns
    ? { table, columns: columns.split(",").map((column) => column.trim()) }
    : { table };
}
