import { ColonnadeError, type Field } from "colonnade";
import { session } from "../server/session.js";
import { quotedName } from "../text/quote.js";

/** A table that the server offers. */
export interface CatalogTable {
  name: string;
  /** The kind of its source, e.g. `parquet`. */
  format: string;
  /** Null where counting would mean reading it all. */
  rows: number | null;
  bytes: number | null;
  /** Changes when the files do. */
  version: string;
  /** Whether it came by an upload, and can be removed. */
  uploaded: boolean;
  fields: Pick<Field, "name" | "type" | "nullable">[];
}

/**
 * Reads the list of tables; undefined where it is still the one with that ETag.
 *
 * @throws ColonnadeError `network_error`, or the server's
 */
export async function fetchCatalog(
  etag?: string,
): Promise<{ tables: CatalogTable[]; etag: string | undefined } | undefined> {
  const response = await fetchJson("/v1/tables", etag);
  if (response.status === 304) return undefined;
  const { tables } = (await response.json()) as { tables: CatalogTable[] };
  return { tables, etag: response.headers.get("etag") ?? undefined };
}

/** Asks the server; resolves with a 2xx, or with a 304 to the ETag that is known. */
export async function fetchJson(
  path: string,
  etag?: string,
  signal?: AbortSignal,
): Promise<Response> {
  let response: Response;
  try {
    // The browser's own cache would turn a 304 into a 200.
    const headers = new Headers(etag === undefined ? {} : { "if-none-match": etag });
    response = await fetch(path, { headers, cache: "no-store", signal: signal ?? null });
  } catch (thrown) {
    if (signal?.aborted) throw thrown;
    throw new ColonnadeError("network_error", "Could not reach the server.", {
      hint: "Is it still running? It is tried again every few seconds.",
    });
  }
  if (response.ok || response.status === 304) return response;
  if (response.status === 401) {
    await session.needed();
    return fetchJson(path, etag, signal);
  }
  throw await problemOf(response);
}

async function problemOf(response: Response): Promise<ColonnadeError> {
  const { status } = response;
  try {
    const problem = (await response.json()) as { code: string; detail: string; hint?: string };
    return new ColonnadeError(problem.code, problem.detail, { status, hint: problem.hint });
  } catch {
    return new ColonnadeError("http_error", `The server answered ${status}.`, { status });
  }
}

/** The address of a table's rows. */
export function rowsUrl(name: string): string {
  return `/v1/tables/${encodeURIComponent(name)}/rows`;
}

/** The request that runs a statement; the answer is its rows. */
export function queryRequest(sql: string): Request {
  return new Request("/v1/query", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
}

/** A statement that shows some rows of a table. */
export function exampleSql(name: string): string {
  return `SELECT * FROM ${quotedName(name)} LIMIT 100`;
}

/** Tables whose name, or one of whose columns, contains every word of the filter. */
export function filterCatalog(tables: readonly CatalogTable[], filter: string): CatalogTable[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return tables.filter(({ name, fields }) => {
    const names = [name, ...fields.map((field) => field.name)].join("\n").toLowerCase();
    return words.every((word) => names.includes(word));
  });
}
