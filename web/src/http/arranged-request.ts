import { type Arrangement, arrangementJson } from "../model/arrangement.js";
import type { UrlSource } from "../model/wire-source.js";
import { queryUrl } from "./query-request.js";

/**
 * The request for the rows of a source in another arrangement; undefined if no Colonnade server
 * answers the source. A whole table is requested by its name. Rows of a statement, and rows that are
 * filtered, sorted or limited, are requested by the id of their result, which the server must still hold.
 *
 * @param columns the columns to request; default all
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

/** The table and columns of a request without filter, sort or limit; undefined for other requests. */
function plainTable(source: UrlSource): { table: string; columns?: string[] } | undefined {
  const { pathname, searchParams } = new URL(source.url);
  const name = /\/v1\/tables\/([^/]+)\/rows$/.exec(pathname)?.[1];
  if (name === undefined || source.method !== "GET") return undefined;
  if (["filter", "sort", "offset", "limit"].some((key) => searchParams.has(key))) return undefined;
  const columns = searchParams.get("columns");
  // Only the server parses lists with quoted names.
  if (columns?.includes('"')) return undefined;
  const table = decodeURIComponent(name);
  return columns
    ? { table, columns: columns.split(",").map((column) => column.trim()) }
    : { table };
}
