import { ColonnadeError } from "../model/errors.js";
import type { QueryRange, UrlSource } from "../model/wire-source.js";
import type { Fetch } from "./fetch-bridge.js";
import { errorFromProblem, errorFromResponse } from "./problem.js";
import { queryUrl } from "./query-request.js";

/** The server's record of a result; see `GET /v1/query/{id}`. */
export interface QueryRecord {
  /** The row after the last one; null until it is known. */
  rows?: number | null;
  /** The row after the last one that was produced. */
  rows_ready?: number;
  /** The kind of its order; null while it is planned. */
  order?: string | null;
  /** How far it has come; what is not known is null. */
  progress?: { fraction: number | null; bytes_read: number | null; bytes_total: number | null };
  elapsed_ms?: number;
  /** Tasks of the remote engine that computes it; more may be added. */
  engine?: { tasks: number; tasks_done: number };
  error?: unknown;
}

/** Timeout of the request for a record. */
const RECORD_TIMEOUT_MS = 3000;

/**
 * Fetches the server's record of a result; undefined if the server no longer has it. Rejects with the
 * server's error if the result has failed, and with the request's error if that failed.
 *
 * @param fetch as for {@link fetchQueryJson}
 */
export async function fetchQueryRecord(
  source: UrlSource,
  query: QueryRange,
  signal: AbortSignal,
  fetch: Fetch,
): Promise<QueryRecord | undefined> {
  let record: QueryRecord;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(RECORD_TIMEOUT_MS)]);
    record = JSON.parse(await fetchQueryJson(source, query, "", within, fetch)) as QueryRecord;
  } catch (thrown) {
    if (!(thrown instanceof ColonnadeError)) {
      throw new ColonnadeError("network_error", "The server cannot be reached.");
    }
    if (thrown.code === "unknown_query") return undefined;
    throw thrown;
  }
  if (record.error) throw errorFromProblem(record.error, 200);
  return record;
}

/**
 * Fetches JSON about a result; `path` is appended to its address. Rejects with the server's error.
 *
 * @param fetch sends the request: in the page its own `fetch`, since the source's port is the worker's
 */
export async function fetchQueryJson(
  source: UrlSource,
  query: QueryRange,
  path: string,
  signal: AbortSignal,
  fetch: Fetch,
): Promise<string> {
  const headers = new Headers(source.headers);
  headers.set("accept", "application/json");
  headers.delete("content-type");
  const url = `${queryUrl(source.url, query.id)}${path}`;
  const init = { headers: [...headers], credentials: source.credentials, signal };
  const response = await fetch(url, init);
  if (!response.ok) throw await errorFromResponse(response);
  return response.text();
}
