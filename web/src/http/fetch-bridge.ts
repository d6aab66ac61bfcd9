import { type PlainError, thrownFrom } from "../model/errors.js";
import { streamFromPort } from "./port-stream.js";

/** Answers a table's requests instead of the browser's `fetch`, in the thread of the page. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a page answers to a request. */
export type Reply =
  | { status: number; headers: [string, string][]; body: MessagePort }
  | { error: PlainError };

/** The statuses of responses that have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

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
