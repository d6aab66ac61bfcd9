import { ColonnadeError } from "colonnade";
import { session } from "./session.js";

/**
 * Requests JSON and waits for a sign-in where one is needed. Resolves with status 2xx, or with 304
 * if the resource still has that ETag.
 *
 * @throws ColonnadeError `network_error`, or the server's error
 */
export async function fetchJson(
  path: string,
  etag?: string,
  signal?: AbortSignal,
): Promise<Response> {
  // With its own cache, the browser would turn a 304 into a 200.
  const headers = new Headers(etag === undefined ? {} : { "if-none-match": etag });
  try {
    return await session.fetch(path, { headers, cache: "no-store", signal: signal ?? null });
  } catch (thrown) {
    if (signal?.aborted || ColonnadeError.from(thrown, "http_error").code !== "network_error") {
      throw thrown;
    }
    throw new ColonnadeError("network_error", "Could not reach the server.", {
      hint: "Is it still running?",
    });
  }
}

/** The URL of a table's rows. */
export function rowsUrl(name: string): string {
  return `/v1/tables/${encodeURIComponent(name)}/rows`;
}

/** The request that runs a statement; the response holds its rows. */
export function queryRequest(sql: string): Request {
  return new Request("/v1/query", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
}

/** Whether an error only says that the caller cancelled its request. */
export function isCancelled(thrown: unknown): boolean {
  const { code, name } = (thrown ?? {}) as Partial<ColonnadeError>;
  return code === "cancelled" || (name as string) === "AbortError";
}
