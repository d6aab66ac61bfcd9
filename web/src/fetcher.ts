import { serveStream, streamFromPort } from "./body.js";

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
      const { port1, port2 } = new MessageChannel();
      const abort = () => {
        port1.postMessage(null);
        reject(signal?.reason);
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort);
      port1.onmessage = ({ data }: MessageEvent<Reply>) => {
        if ("error" in data) reject(new TypeError(data.error));
        else resolve(new Response(streamFromPort(data.body, true), data));
      };
      port.postMessage([url, init], [port2]);
    });
}
