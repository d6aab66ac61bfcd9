import type { Endpoint } from "../rpc/endpoint.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { Message } from "../rpc/messages.js";
import type { TableWorker } from "./worker-lease.js";

/** What `worker.js` exports. */
export interface WorkerModule {
  /** Serves one table through `endpoint`. The returned function stops it and frees the rows. */
  serve(endpoint: Endpoint): () => void;
}

/** Serves one table on this thread. */
export function serveHere({ serve }: WorkerModule): TableWorker {
  const [ours, theirs] = [new LocalEndpoint(), new LocalEndpoint()];
  ours.other = theirs;
  theirs.other = ours;
  const stop = serve(theirs as unknown as Endpoint);
  return Object.assign(ours as unknown as TableWorker, { release: stop, terminate: stop });
}

/** One end of a channel inside this thread. Messages are not copied, so the sender must not reuse them. */
class LocalEndpoint extends EventTarget {
  other: LocalEndpoint | undefined;
  readonly #sent: Message[] = [];

  postMessage(message: Message): void {
    this.#sent.push(message);
    void yieldToEventLoop().then(() => {
      this.other?.dispatchEvent(new MessageEvent("message", { data: this.#sent.shift() }));
    });
  }
}
