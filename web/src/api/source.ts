import { isArrowFile } from "../http/arrow-file.js";
import { bodyOfResponse } from "../http/body.js";
import type { Fetch } from "../http/fetch-bridge.js";
import { claimQuery } from "../http/query-request.js";
import type { Arrangement } from "../model/arrangement.js";
import { ColonnadeError } from "../model/errors.js";
import type { FileFacts } from "../model/file-source.js";
import type { UrlSource, WireSource } from "../model/wire-source.js";

/**
 * The source of a table: an address, a request to send, a response that has arrived, or the bytes of
 * an Arrow IPC stream or file as a stream, a buffer or a file.
 */
export type TableSource =
  | string
  | URL
  | Request
  | Response
  | ReadableStream<Uint8Array>
  | ArrayBuffer
  | Uint8Array
  | Blob;

/** Whether a source can be opened more than once: a stream, or the body of a response, is read once. */
export function canOpenAgain(source: TableSource): boolean {
  return !(source instanceof ReadableStream || source instanceof Response);
}

/** Options of the HTTP requests, if the source is an address or a Request. */
export interface RequestOptions {
  headers?: HeadersInit | undefined;
  credentials?: RequestCredentials | undefined;
  /**
   * Replaces the browser's `fetch`; called in the calling thread. It serves rows from another channel,
   * such as messages. To answer by row, it implements a Colonnade server's HTTP (`docs/embedding.md`).
   */
  fetch?: Fetch | undefined;
}

/** What is known of a Parquet file, and its rows in another arrangement. */
export type OpenedFile = Partial<FileFacts> & {
  arranged(arrangement: Arrangement): PreparedSource;
};

/** A source in the form that the worker takes, with the objects to transfer. */
export interface PreparedSource {
  wire: WireSource;
  transfer: Transferable[];
  /** Sends the requests that the page itself makes. */
  fetch?: Fetch | undefined;
  /** The port by which the worker calls `fetch`; closed with the table. */
  port?: { close(): void };
  /** Set if the source is a Parquet file that the reader reads. */
  file?: OpenedFile;
  /** Aborts, with the error, when that reader has ended although nobody ended it. */
  loss?: AbortSignal | undefined;
}

/** Prepares a source for the worker. Rejects for a Response with an error status. */
export async function prepareSource(
  source: TableSource,
  options: RequestOptions,
): Promise<PreparedSource> {
  if (typeof source === "string" || source instanceof URL) {
    return request(urlSource(source, "GET", null, options), options);
  }
  if (source instanceof Request) {
    const asked = source.clone();
    // The method decides, because some browsers lack `Request.body`.
    const hasBody = asked.method !== "GET" && asked.method !== "HEAD";
    const body = hasBody ? await asked.arrayBuffer() : null;
    const headers = new Headers(asked.headers);
    for (const [name, value] of new Headers(options.headers)) headers.set(name, value);
    const credentials = options.credentials ?? asked.credentials;
    return request(urlSource(asked.url, asked.method, body, { headers, credentials }), options);
  }
  if (source instanceof Blob) {
    return { wire: { kind: "blob", blob: source }, transfer: [] };
  }
  if (source instanceof Response) {
    const { stream, end } = await bodyOfResponse(source);
    return portSource(stream, end);
  }
  if (source instanceof ReadableStream) {
    return portSource(source, "marker");
  }
  if (source instanceof ArrayBuffer || source instanceof Uint8Array) {
    const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source;
    if (isArrowFile(bytes)) {
      const blob = new Blob([bytes as Uint8Array<ArrayBuffer>]);
      return { wire: { kind: "blob", blob }, transfer: [] };
    }
    return portSource(streamOfBytes(bytes), "boundary");
  }
  throw new ColonnadeError(
    "bad_source",
    "Expected a URL, Request, Response, ReadableStream, ArrayBuffer or Blob.",
  );
}

function urlSource(
  address: string | URL,
  method: string,
  body: ArrayBuffer | null,
  { headers, credentials = "same-origin" }: RequestOptions,
): UrlSource {
  const url = urlOf(address);
  const pairs = [...new Headers(headers)];
  return { kind: "url", url: url.href, method, headers: pairs, body, credentials };
}

/** The whole address. */
export function urlOf(address: string | URL): URL {
  try {
    return new URL(address, globalThis.document?.baseURI ?? globalThis.location?.href);
  } catch {
    throw new ColonnadeError("bad_source", `Not a valid URL: ${address}`);
  }
}

async function request(source: UrlSource, { fetch }: RequestOptions): Promise<PreparedSource> {
  const wire = claimQuery(source);
  if (fetch === undefined) return { wire, transfer: [] };
  const { port1, port2 } = new MessageChannel();
  const { serveFetch } = await import("../http/serve-ports.js");
  serveFetch(fetch, port1);
  return { wire: { ...wire, fetch: port2 }, transfer: [port2], fetch, port: port1 };
}

async function portSource(
  stream: ReadableStream<Uint8Array>,
  end: "marker" | "boundary",
): Promise<PreparedSource> {
  const { port1, port2 } = new MessageChannel();
  const { serveStream } = await import("../http/serve-ports.js");
  serveStream(stream, port1);
  return { wire: { kind: "port", port: port2, end }, transfer: [port2] };
}

/** Large enough that messages are few, small enough to copy one in a fraction of a frame. */
const PIECE_BYTES = 1024 * 1024;

function streamOfBytes(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(offset, offset + PIECE_BYTES));
      offset += PIECE_BYTES;
    },
  });
}
