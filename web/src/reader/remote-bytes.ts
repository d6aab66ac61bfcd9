import { poolOf } from "../http/connection-pool.js";
import { type Fetch, fetchThrough } from "../http/fetch-bridge.js";
import { ColonnadeError } from "../model/errors.js";
import type { FileSource, FileWarning } from "../model/file-source.js";
import type { ByteSource } from "./byte-source.js";
import { errorOfStatus, hostRefused, lacksRanges, notFromHost } from "./host-errors.js";

type RemoteFile = Extract<FileSource, { kind: "remote" }>;

/** Up to this size, a file is read whole from a host that does not send ranges. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** Statuses of a host that may answer a little later. */
const BUSY = new Set([429, 500, 502, 503, 504]);
/** How often a busy host is asked again, and the first wait; each further one is twice as long. */
const MAX_TRIES = 5;
const FIRST_WAIT_MS = 250;
/** The longest wait that a host may ask for. */
const MAX_WAIT_MS = 10_000;

/** What tells the states of a file apart, as far as the host lets this page see it. */
interface Identity {
  etag: string | null;
  lastModified: string | null;
  size: number | undefined;
}

/** The bytes of a file at an address whose host sends ranges. */
export class RemoteBytes implements ByteSource {
  readonly #file: RemoteFile;
  readonly #fetch: Fetch;
  readonly #identity: Identity;
  readonly size: number;
  /** The last bytes of the file, until they are read. */
  #tail: Uint8Array | undefined;
  /** The whole file, if the host sends no ranges. */
  #whole: Promise<Uint8Array> | undefined;

  private constructor(file: RemoteFile, send: Fetch, identity: Identity) {
    this.#file = file;
    this.#fetch = send;
    this.#identity = identity;
    this.size = identity.size ?? 0;
  }

  /** Asks the host for the length of the file; a host of the page's own origin for its last bytes, too. */
  static async open(
    file: RemoteFile,
    tailBytes: number,
    signal: AbortSignal,
  ): Promise<RemoteBytes> {
    const send = file.fetch === undefined ? fetch : fetchThrough(file.fetch);
    const { origin } = new URL(file.url);
    // Other origins are asked for their permission first, because the range has no beginning; many refuse.
    if (origin === globalThis.location?.origin) {
      const tail = await readTail(file, send, tailBytes, signal);
      if (tail !== undefined) {
        const opened = new RemoteBytes(file, send, tail.identity);
        opened.#tail = tail.bytes;
        return opened;
      }
    }
    return new RemoteBytes(file, send, await identify(file, send, signal));
  }

  get warning(): FileWarning | undefined {
    if (this.#whole !== undefined) return "no_ranges";
    const { etag, lastModified } = this.#identity;
    return etag === null && lastModified === null ? "unidentified_file" : undefined;
  }

  async read(start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    const tail = this.#tail;
    if (tail !== undefined && end === this.size && start === end - tail.length) {
      this.#tail = undefined;
      return tail;
    }
    for (;;) {
      signal.throwIfAborted();
      if (this.#whole === undefined) {
        const ask = () => this.#ask(start, end, signal);
        const part = await withConnection(this.#file.url, signal, ask);
        if (part !== undefined) return part;
      }
      try {
        const whole = await orAborted(this.#whole, signal);
        if (whole !== undefined) return whole.subarray(start, end);
      } catch (thrown) {
        // If who read the whole file has left, this read asks for it.
        if (signal.aborted || thrown instanceof ColonnadeError) throw thrown;
      }
    }
  }

  /** The bytes `[start, end)`; undefined if the host sends the whole file, which is then being read. */
  async #ask(start: number, end: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const range: [string, string] = ["range", `bytes=${start}-${end - 1}`];
    const response = await ask(this.#file, this.#fetch, "GET", signal, [range]);
    this.#confirm(response);
    if (response.status === 206) return this.#part(response, start, end, signal);
    if (this.size > MAX_WHOLE_BYTES || this.#whole !== undefined) {
      void response.body?.cancel();
      if (this.#whole === undefined) throw lacksRanges(this.#file.url, this.size);
    }
    this.#whole ??= this.#readWhole(response, signal);
    return undefined;
  }

  async #part(response: Response, start: number, end: number, signal: AbortSignal) {
    const sent = /^bytes (\d+)-(\d+)\//.exec(response.headers.get("content-range") ?? "");
    const bytes = await bodyOf(response, this.#file.url, signal);
    const isOther = sent !== null && (Number(sent[1]) !== start || Number(sent[2]) !== end - 1);
    if (isOther || bytes.length !== end - start) {
      throw new ColonnadeError(
        "network_error",
        `The host sent ${bytes.length} bytes where bytes ${start} to ${end - 1} were requested.`,
      );
    }
    return bytes;
  }

  async #readWhole(response: Response, signal: AbortSignal): Promise<Uint8Array> {
    try {
      const bytes = await bodyOf(response, this.#file.url, signal);
      if (bytes.length !== this.size) throw changed();
      return bytes;
    } catch (thrown) {
      // The next reader tries again.
      this.#whole = undefined;
      throw thrown;
    }
  }

  /** Compares what identifies the file with what it was at first, where both are known. */
  #confirm(response: Response): void {
    const first = this.#identity;
    const now = identityOf(response);
    const differs = <T>(before: T, after: T) => before != null && after != null && before !== after;
    if (
      differs(first.etag, now.etag) ||
      differs(first.lastModified, now.lastModified) ||
      differs(this.size, now.size)
    ) {
      void response.body?.cancel();
      throw changed();
    }
    first.etag ??= now.etag;
    first.lastModified ??= now.lastModified;
  }
}

/** The bytes of a body. Rejects with `network_error` if the connection is lost. */
async function bodyOf(response: Response, url: string, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    const { host } = new URL(url);
    throw new ColonnadeError("network_error", `The connection to ${host} was lost.`);
  }
}

/** What a promise resolves with, unless `signal` aborts before. */
function orAborted<T>(
  promise: Promise<T> | undefined,
  signal: AbortSignal,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop);
    Promise.resolve(promise)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}

function changed(): ColonnadeError {
  return new ColonnadeError("source_changed", "The file has changed since it was opened.", {
    hint: "Open it again.",
  });
}

function identityOf({ status, headers }: Response): Identity {
  const total = /\/(\d+)$/.exec(headers.get("content-range") ?? "");
  const length = headers.get("content-length");
  const size = status === 206 ? total?.[1] : length;
  return {
    etag: headers.get("etag"),
    lastModified: headers.get("last-modified"),
    size: size === undefined || size === null ? undefined : Number(size),
  };
}

/** The last bytes of a file with what identifies it; undefined if the host does not send them. */
async function readTail(
  file: RemoteFile,
  send: Fetch,
  tailBytes: number,
  signal: AbortSignal,
): Promise<{ identity: Identity; bytes: Uint8Array } | undefined> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    const range: [string, string] = ["range", `bytes=-${tailBytes}`];
    const response = await ask(file, send, "GET", either, [range]);
    const identity = identityOf(response);
    const { size = 0 } = identity;
    if (response.status !== 206 || response.headers.has("content-encoding")) return undefined;
    const bytes = await bodyOf(response, file.url, either);
    return bytes.length === Math.min(size, tailBytes) ? { identity, bytes } : undefined;
  } catch (thrown) {
    const { status } = thrown instanceof ColonnadeError ? thrown : {};
    // Some hosts refuse such a range, and say of the file itself what is wrong with it.
    if (status === undefined || BUSY.has(status)) throw thrown;
    return undefined;
  } finally {
    over.abort();
  }
}

/**
 * The length of a file, and what identifies it. Some hosts refuse HEAD (signed addresses allow GET alone): there, a GET that
 * is cancelled after its headers tells it.
 */
async function identify(file: RemoteFile, send: Fetch, signal: AbortSignal): Promise<Identity> {
  for (const method of ["HEAD", "GET"]) {
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    try {
      const response = await ask(file, send, method, either);
      const encoding = response.headers.get("content-encoding");
      const identity = identityOf(response);
      if (identity.size !== undefined && (encoding === null || encoding === "identity")) {
        return identity;
      }
      if (method === "GET") throw hostRefused(file.url, encoding);
    } catch (thrown) {
      if (method === "GET" || signal.aborted) throw thrown;
      // A host that is busy is so for any method.
      const status = thrown instanceof ColonnadeError ? thrown.status : undefined;
      if (status === undefined || BUSY.has(status)) throw thrown;
    } finally {
      over.abort();
    }
  }
  throw hostRefused(file.url, null);
}

/** A response with a status of success. A host that is busy is asked again. */
async function ask(
  { url, headers, credentials }: RemoteFile,
  send: Fetch,
  method: string,
  signal: AbortSignal,
  more: [string, string][] = [],
): Promise<Response> {
  let waitMs = FIRST_WAIT_MS;
  for (let tries = 1; ; tries++) {
    let response: Response;
    try {
      response = await send(url, {
        method,
        headers: [...headers, ...more],
        credentials,
        // A cache lets one request for an address wait for the other.
        cache: "no-store",
        signal,
      });
    } catch (thrown) {
      if (signal.aborted || thrown instanceof ColonnadeError) throw thrown;
      throw notFromHost(url);
    }
    if (response.ok) return response;
    const { status } = response;
    void response.body?.cancel();
    if (!BUSY.has(status) || tries === MAX_TRIES) throw errorOfStatus(url, response);
    const askedMs = 1000 * Number(response.headers.get("retry-after") ?? 0) || 0;
    await pause(Math.min(Math.max(waitMs, askedMs), MAX_WAIT_MS), signal);
    waitMs *= 2;
  }
}

function pause(waitMs: number, signal: AbortSignal): Promise<unknown> {
  return orAborted(new Promise((resolve) => setTimeout(resolve, waitMs)), signal);
}

/** Does work that needs a connection to the host of `url`. */
async function withConnection<T>(
  url: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const pool = poolOf(url);
  let release = () => {};
  try {
    await new Promise<void>((resolve, reject) => {
      const stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      const onGrant = () => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const slot = pool.request({ priority: "stream", hasRows: false, onGrant, onYield: () => {} });
      release = () => slot.release();
      if (signal.aborted) stop();
    });
    return await work();
  } finally {
    release();
  }
}
