import { plainSourceError } from "../model/errors.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { Fetch, Reply } from "./fetch-bridge.js";
import type { PortReply, PortRequest } from "./port-stream.js";

/** The size of a message: large enough for few of them, small enough to copy in a fraction of a frame. */
const PIECE_BYTES = 1024 * 1024;

/**
 * Serves a stream through a port, one piece for each request, because not every browser can transfer
 * streams. Chunks that are available are sent together.
 */
export function serveStream(stream: ReadableStream<Uint8Array>, port: MessagePort): void {
  const reader = stream.getReader();
  let pending: ReturnType<typeof reader.read> | undefined;
  /** The unsent rest of a chunk. */
  let rest: Uint8Array = new Uint8Array(0);

  /**
   * Copies the next bytes into `buffer`, because their owner may still use them: at least one chunk,
   * and those that arrive within the same task. Undefined at the end.
   */
  async function fill(buffer: ArrayBuffer): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const piece = new Uint8Array(buffer);
    let filled = 0;
    let late: Promise<undefined> | undefined;
    while (filled < piece.length) {
      if (rest.length === 0) {
        pending ??= reader.read();
        late ??= filled > 0 ? yieldToEventLoop().then(() => undefined) : undefined;
        let next: Awaited<typeof pending> | undefined;
        try {
          next = await (late === undefined ? pending : Promise.race([pending, late]));
        } catch (thrown) {
          if (filled === 0) throw thrown;
        }
        // The bytes so far are sent before a later chunk, the end or a failure.
        if (filled > 0 && next?.value === undefined) break;
        pending = undefined;
        if (next?.value === undefined) return undefined;
        rest = next.value;
      }
      const bytes = rest.subarray(0, piece.length - filled);
      piece.set(bytes, filled);
      filled += bytes.length;
      rest = rest.subarray(bytes.length);
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
      port.postMessage({ error: plainSourceError(thrown) } satisfies PortReply);
    }
  };
}

/** Calls `fetch` for the requests that a worker sends through `port`; see {@link fetchThrough}. */
export function serveFetch(fetch: Fetch, port: MessagePort, serve = serveStream): void {
  port.onmessage = async ({ data: [url, init], ports: [replyPort] }: MessageEvent) => {
    if (replyPort === undefined) return;
    const abort = new AbortController();
    replyPort.onmessage = () => abort.abort();
    try {
      const { status, headers, body } = await fetch(url, { ...init, signal: abort.signal });
      if (status < 200) throw new TypeError("the option `fetch` gave a response without a status");
      const { port1, port2 } = new MessageChannel();
      serve(body ?? new Blob().stream(), port1);
      const reply: Reply = { status, headers: [...headers], body: port2 };
      replyPort.postMessage(reply, [port2]);
    } catch (thrown) {
      replyPort.postMessage({ error: plainSourceError(thrown) } satisfies Reply);
    }
  };
}
