import { serveStream, streamFromPort } from "./port-stream.js";

/** What answers a table's requests in place of the browser's `fetch`, in the thread of the page. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

type Reply = { status: number; headers: [string, string][]; body: MessagePort } | { error: string };

/** Answers by `fetch` what a worker asks through `port`; see {@link fetchThrough}. */
export function serveFetch(fetch: Fetch, port: MessagePort): void {
  port.onmessage = async ({ data: [url, init], ports: [asker] }: MessageEvent) => {
    if (asker === undefined) return;
    const abort = new AbortController();
    asker.onmessage = () => abort.abort();
    try {
      const { status, headers, body } = await fetch(url, { ...init, signal: abort.signal });
      const { port1, port2 } = new MessageChannel();
      serveStream(body ?? new Blob().stream(), port1);
      const reply: Reply = { status, headers: [...headers], body: port2 };
      asker.postMessage(reply, [port2]);
    } catch (thrown) {
      asker.postMessage({ error: String(thrown) } satisfies Reply);
    }
  };
}

/** A `fetch` that asks the other end of `port`. */
export function fetchThrough(port: MessagePort): Fetch {
  return (url, { signal, ...init }) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const { port1, port2 } = new MessageChannel();
      const abort = () => {
        port1.postMessage(null);
        reject(signal?.reason);
      };
      // Ports that somebody listens to are collected only after they were closed.
      const end = () => {
        signal?.removeEventListener("abort", abort);
        if (signal?.aborted) port1.postMessage(null);
        port1.close();
      };
      signal?.addEventListener("abort", abort);
      port1.onmessage = ({ data }: MessageEvent<Reply>) => {
        if ("error" in data) {
          end();
          reject(new TypeError(data.error));
          return;
        }
        const body = streamFromPort(data.body, true, end);
        // Who has left reads nothing of an answer that comes all the same.
        if (signal?.aborted) void body.cancel();
        else resolve(new Response(body, data));
      };
      port.postMessage([url, init], [port2]);
    });
}
