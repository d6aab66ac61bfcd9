import { ColonnadeError, errorFromResponse } from "./errors.js";
import { type Fetch, fetchThrough } from "./fetcher.js";
import { type FileFooter, findFooter } from "./file.js";
import type { EndRule, UrlSource, WireSource } from "./messages.js";
import { letMessagesIn } from "./turns.js";

/** An open body and what its end will mean. */
export interface Body {
  stream: ReadableStream<Uint8Array>;
  end: EndRule;
  /** The rows' order does not depend on the run: a Colonnade server says so. */
  isRepeatable: boolean;
  /** Set where the bytes are an Arrow file that is read by its footer. */
  footer?: FileFooter;
}

/**
 * Opens a source inside the worker. Rejects with the server's own error when it refuses.
 *
 * @param waitMs how long a server may take to answer; default as long as it likes
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
    throw new ColonnadeError("network_error", `Could not reach ${new URL(url).origin}.`, {
      hint: "Is the server running, and does it allow requests from this page?",
    });
  } finally {
    clearTimeout(timer);
  }
  return bodyOfResponse(response);
}

/** What answers a source's requests. */
export function fetchOf({ fetch: port }: UrlSource): Fetch {
  return port === undefined ? fetch : fetchThrough(port);
}

/** The body of an answer, or the error it stands for. */
export async function bodyOfResponse(response: Response): Promise<Body> {
  if (!response.ok) throw await errorFromResponse(response);
  const type = response.headers.get("content-type") ?? "";
  // The usual mishap: a page or an API's answer where the stream was expected.
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
  return { stream: response.body, end: isBounded ? "boundary" : "marker", isRepeatable };
}

/** Enough for the largest piece that Chromium hands out at once. */
const BUFFER_BYTES = 2 * 1024 * 1024;

/**
 * Reads a body piece by piece, only when asked for the next one: a consumer that pauses holds
 * the sender back. Each piece is valid until the next is asked for. Ends early when `signal`
 * aborts, and cancels the stream when the consumer leaves.
 *
 * @param stallMs how long the next piece may take; default as long as it likes
 */
export async function* readBody(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  stallMs?: number,
): AsyncGenerator<Uint8Array, void, void> {
  const { read, cancel } = openReader(stream);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    while (!signal.aborted) {
      const piece = await (stallMs === undefined ? read() : within(stallMs, read()));
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
  // A stream that failed or ended has nobody left to tell.
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

/** Asks for the next piece; `buffer` is that of the last one, to be filled again. */
type PortRequest = { pull: ArrayBuffer | undefined } | "cancel";
type PortReply = { piece: Uint8Array<ArrayBuffer> } | { done: true } | { error: string };

/** What goes through a port at once: enough that messages cost little, a fraction of a frame to copy. */
const PIECE_BYTES = 1024 * 1024;

/**
 * Serves a stream through a port, one piece for each request that comes back over it. Streams
 * cannot be transferred in every browser, ports can. Chunks that are there already go together.
 */
export function serveStream(stream: ReadableStream<Uint8Array>, port: MessagePort): void {
  const reader = stream.getReader();
  let pending: ReturnType<typeof reader.read> | undefined;
  /** What is left of a chunk. */
  let rest: Uint8Array = new Uint8Array(0);

  /**
   * Copies the next bytes, whose owner may still use them, into `buffer`: a chunk at least, then
   * what comes before the next task. Undefined at the end.
   */
  async function fill(buffer: ArrayBuffer): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const piece = new Uint8Array(buffer);
    let filled = 0;
    let late: Promise<undefined> | undefined;
    while (filled < piece.length) {
      if (rest.length === 0) {
        pending ??= reader.read();
        late ??= filled > 0 ? letMessagesIn().then(() => undefined) : undefined;
        let next: Awaited<typeof pending> | undefined;
        try {
          next = await (late === undefined ? pending : Promise.race([pending, late]));
        } catch (thrown) {
          if (filled === 0) throw thrown;
        }
        // What is not there yet, the end or a failure comes behind the bytes before it.
        if (filled > 0 && next?.value === undefined) break;
        pending = undefined;
        if (next?.value === undefined) return undefined;
        rest = next.value;
      }
      const part = rest.subarray(0, piece.length - filled);
      piece.set(part, filled);
      filled += part.length;
      rest = rest.subarray(part.length);
    }
    return piece.subarray(0, filled);
  }

  port.onmessage = async ({ data }: MessageEvent<PortRequest>) => {
    if (data === "cancel") {
      port.close();
      await reader.cancel().catch(() => undefined);
      return;
    }
    try {
      const piece = await fill(data.pull ?? new ArrayBuffer(PIECE_BYTES));
      if (piece === undefined) port.postMessage({ done: true } satisfies PortReply);
      else port.postMessage({ piece } satisfies PortReply, [piece.buffer]);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      port.postMessage({ error } satisfies PortReply);
    }
  };
}

/**
 * The other end of {@link serveStream}. Each piece is valid until the next is asked for: its buffer
 * goes back to be filled again, since new memory costs more than copying into old.
 *
 * @param isKept whoever reads keeps the pieces: each has memory of its own
 * @param onEnd called when no more is read, because there is no more or nobody wants it
 */
export function streamFromPort(
  port: MessagePort,
  isKept = false,
  onEnd = () => {},
): ReadableStream<Uint8Array> {
  let buffer: ArrayBuffer | undefined;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise((resolve) => {
          port.onmessage = ({ data }: MessageEvent<PortReply>) => {
            if ("piece" in data) {
              if (!isKept) buffer = data.piece.buffer;
              controller.enqueue(data.piece);
            } else {
              port.close();
              onEnd();
              if ("error" in data) controller.error(new Error(data.error));
              else controller.close();
            }
            resolve();
          };
          const request: PortRequest = { pull: buffer };
          port.postMessage(request, buffer === undefined ? [] : [buffer]);
        }),
      cancel: () => {
        port.postMessage("cancel" satisfies PortRequest);
        port.close();
        onEnd();
      },
    },
    { highWaterMark: 0 },
  );
}
