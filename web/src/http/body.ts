import { ColonnadeError } from "../model/errors.js";
import type { EndRule, UrlSource, WireSource } from "../model/wire-source.js";
import { type FileFooter, findFooter } from "./arrow-file.js";
import { type Fetch, fetchThrough } from "./fetch-bridge.js";
import { streamFromPort } from "./port-stream.js";
import { errorFromResponse } from "./problem.js";

/** An open body and the meaning of its end. */
export interface Body {
  stream: ReadableStream<Uint8Array>;
  /**
   * Closes the connection of a stream that was cancelled. Without it, Firefox keeps the connection open until
   * more bytes arrive.
   */
  close?(): void;
  end: EndRule;
  /** Whether a Colonnade server states that every run gives the rows in the same order. */
  isRepeatable: boolean;
  /** The number of files that the rows lack, because a Colonnade server could not read them. */
  leftOutFiles?: number;
  /** Set if the bytes are an Arrow file that is read by its footer. */
  footer?: FileFooter;
  /** Whether the server only began the result, as {@link minimal} asks. */
  isMinimal?: boolean;
}

/**
 * Opens a source inside the worker. Rejects with the server's own error when it refuses.
 *
 * @param waitMs timeout of the server's answer; default none
 */
export async function openBody(
  source: WireSource,
  signal: AbortSignal,
  waitMs?: number,
): Promise<Body> {
  switch (source.kind) {
    case "blob":
      return openBlob(source.blob);
    case "port":
      return { stream: streamFromPort(source.port), end: source.end, isRepeatable: false };
    case "url":
      return fetchBody(source, signal, waitMs);
  }
}

/**
 * Whether the sender of a source's bytes waits while they are not read. A browser whose bodies cannot be read
 * into the reader's buffers (WebKit) takes all bytes at once, and the worker's messages wait behind them.
 */
export function holdsBack(source: WireSource): boolean {
  if (source.kind !== "url" || source.fetch !== undefined) return true;
  try {
    new Response(" ").body?.getReader({ mode: "byob" });
    return true;
  } catch {
    return false;
  }
}

/** The request that begins a result of a Colonnade server without its rows. */
export function minimal(source: UrlSource): UrlSource {
  return { ...source, headers: [...source.headers, ["prefer", "return=minimal"]] };
}

async function openBlob(blob: Blob): Promise<Body> {
  const body: Body = { stream: blob.stream(), end: "boundary", isRepeatable: false };
  const footer = await findFooter(blob);
  return footer === undefined ? body : { ...body, footer };
}

async function fetchBody(source: UrlSource, signal: AbortSignal, waitMs?: number): Promise<Body> {
  const headers = new Headers(source.headers);
  if (!headers.has("accept")) headers.set("accept", "application/vnd.apache.arrow.stream");
  const { url, method, body, credentials } = source;
  const late = new AbortController();
  const timer = waitMs === undefined ? undefined : setTimeout(() => late.abort(), waitMs);
  const either = AbortSignal.any([signal, late.signal]);
  let response: Response;
  try {
    const init = { method, headers: [...headers], body, credentials, signal: either };
    response = await fetchOf(source)(url, init);
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    if (thrown instanceof ColonnadeError) throw thrown;
    throw new ColonnadeError("network_error", `Could not reach ${new URL(url).origin}.`, {
      hint: source.fetch ? String(thrown) : "Is the server running, and does it allow this page?",
    });
  } finally {
    clearTimeout(timer);
  }
  const isMinimal = headers.has("prefer") && response.status === 204;
  const answer = await bodyOfResponse(
    isMinimal ? new Response("", { headers: response.headers }) : response,
  );
  return { ...answer, isMinimal, close: () => late.abort() };
}

/** The `fetch` of a source. */
export function fetchOf({ fetch: port }: UrlSource): Fetch {
  return port === undefined ? fetch : fetchThrough(port);
}

/** The body of a response. Rejects with the error of a failed response. */
export async function bodyOfResponse(response: Response): Promise<Body> {
  if (!response.ok) throw await errorFromResponse(response);
  const type = response.headers.get("content-type") ?? "";
  // A common mistake: the address of a page or of an API's JSON instead of a stream.
  if (/^text\/html|json/i.test(type)) {
    await response.body?.cancel();
    throw new ColonnadeError(
      "unexpected_content_type",
      `Expected an Arrow stream, but the server sent ${type}.`,
    );
  }
  if (response.body === null) {
    throw new ColonnadeError("empty_body", "The server's answer has no body.");
  }
  const { headers } = response;
  const isBounded = !headers.has("x-query-id") && headers.has("content-length");
  const isRepeatable = /^(?:total|partition)$/.test(headers.get("x-result-order") ?? "");
  const leftOutFiles = Number(headers.get("x-left-out"));
  const end = isBounded ? "boundary" : "marker";
  return { stream: response.body, end, isRepeatable, leftOutFiles };
}

/** The size of the largest piece that Chromium returns. */
const BUFFER_BYTES = 2 * 1024 * 1024;

/**
 * Reads a body piece by piece on demand, so a consumer that pauses applies backpressure. Each piece
 * is valid until the next is requested. Ends early when `signal` aborts, and cancels the stream when
 * the consumer returns.
 *
 * @param stallMs timeout of the next piece; default none
 */
export async function* readBody(
  body: Pick<Body, "stream" | "close">,
  signal: AbortSignal,
  stallMs?: number,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = openReader(body.stream);
  const cancel = () => {
    reader.cancel();
    body.close?.();
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    while (!signal.aborted) {
      const piece = await (stallMs === undefined ? reader.read() : within(stallMs, reader.read()));
      if (piece === undefined || signal.aborted) return;
      yield piece;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

function within<T>(waitMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(new ColonnadeError("network_error", `Nothing arrived for ${waitMs / 1000} s.`));
    const timer = setTimeout(late, waitMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

interface PieceReader {
  read(): Promise<Uint8Array | undefined>;
  cancel(): void;
}

function openReader(stream: ReadableStream<Uint8Array>): PieceReader {
  // Cancelling a stream that failed rejects with its error, which was thrown before.
  const quietly = (cancelled: Promise<void>) => void cancelled.catch(() => undefined);
  let byob: ReadableStreamBYOBReader;
  try {
    byob = stream.getReader({ mode: "byob" });
  } catch {
    const reader = stream.getReader();
    return {
      read: async () => (await reader.read()).value,
      cancel: () => quietly(reader.cancel()),
    };
  }
  let buffer = new ArrayBuffer(BUFFER_BYTES);
  return {
    read: async () => {
      const { value, done } = await byob.read(new Uint8Array(buffer));
      if (value !== undefined) buffer = value.buffer;
      return done ? undefined : value;
    },
    cancel: () => quietly(byob.cancel()),
  };
}
