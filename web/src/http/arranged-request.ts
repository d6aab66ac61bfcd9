import { type Arrangement, arrangementJson } from "../model/arrangement.js";
import type { UrlSource } from "../model/wire-source.js";
import { queryUrl } from "./query-request.js";

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
