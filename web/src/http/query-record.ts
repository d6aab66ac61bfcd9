import { ColonnadeError } from "../model/errors.js";
import type { QueryRange, UrlSource } from "../model/wire-source.js";
import type { Fetch } from "./fetch-bridge.js";
import { errorFromProblem, errorFromResponse } from "./problem.js";
import { queryUrl } from "./query-request.js";

/** What the server says of a result; see `GET /v1/query/{id}`. */
interface QueryRecord {
  /** The row after the last one; null until it is known. */
  rows?: number | null;
  /** The row after the last one that was produced. */
  rows_ready?: number;
  /** What its order means; null while it is planned. */
  order?: string | null;
  /** Tasks of an engine elsewhere that computes it; others may come. */
  engine?: { tasks: number; tasks_done: number };
  error?: unknown;
}

/** How long to wait for the server's word on a result. */
const RECORD_TIMEOUT_MS = 3000;

/**
 * What the server knows of a result; undefined where it has forgotten it. Rejects with the server's
 * error where the result has failed, or with why it could not be asked. `ask` as for {@link askQuery}.
 */
export async function askRecord(
  source: UrlSource,
  query: QueryRange,
  signal: AbortSignal,
  ask: Fetch,
): Promise<QueryRecord | undefined> {
  let record: QueryRecord;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(RECORD_TIMEOUT_MS)]);
    record = JSON.parse(await askQuery(source, query, "", within, ask)) as QueryRecord;
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
 * Asks the server something about a result; `path` goes behind its address. Resolves with JSON;
 * rejects with the server's error.
 *
 * @param ask what answers: in the page its own `fetch`, since the source's port is the worker's
 */
export async function askQuery(
  source: UrlSource,
  query: QueryRange,
  path: string,
  signal: AbortSignal,
  ask: Fetch,
): Promise<string> {
  const headers = new Headers(source.headers);
  headers.set("accept", "application/json");
  headers.delete("content-type");
  const url = `${queryUrl(source.url, query.id)}${path}`;
  const init = { headers: [...headers], credentials: source.credentials, signal };
  const response = await ask(url, init);
  if (!response.ok) throw await errorFromResponse(response);
  return response.text();
}
