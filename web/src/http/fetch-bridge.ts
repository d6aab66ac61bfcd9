import { type PlainError, plainSourceError, thrownFrom } from "../model/errors.js";
import { serveStream, streamFromPort } from "./port-stream.js";

/** Answers a table's requests instead of the browser's `fetch`, in the thread of the page. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

type Reply =
  | { status: number; headers: [string, string][]; body: MessagePort }
  | { error: PlainError };

/** The statuses of responses that have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

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

/** A `fetch` that sends its requests through `port`. */
export function fetchThrough(port: MessagePort): Fetch {
  return (url, { signal, ...init }) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const { port1, port2 } = new MessageChannel();
      const abort = () => {
        port1.postMessage(null);
        reject(signal?.reason);
      };
      // A port with a listener is garbage collected only after it was closed.
      const end = (isCancelled = false) => {
        signal?.removeEventListener("abort", abort);
        if (isCancelled) port1.postMessage(null);
        port1.close();
      };
      signal?.addEventListener("abort", abort);
      port1.onmessage = ({ data }: MessageEvent<Reply>) => {
        if ("error" in data) {
          end();
          reject(thrownFrom(data.error));
          return;
        }
        // Rows of a result are decoded piece by piece.
        const isKept = !data.headers.some(([name]) => name === "x-result-order");
        const body = streamFromPort(data.body, isKept, end);
        // The request was aborted, but its response arrived.
        if (signal?.aborted) return void body.cancel();
        const hasBody = !BODILESS.has(data.status);
        if (!hasBody) void body.cancel();
        resolve(new Response(hasBody ? body : null, data));
      };
      port.postMessage([url, init], [port2]);
    });
}
