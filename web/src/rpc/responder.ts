import { ColonnadeError, workerLost } from "../model/errors.js";
import type { Endpoint } from "./endpoint.js";
import { yieldToEventLoop } from "./event-loop.js";
import type { NoticeName, Notices, RequestName, Requests } from "./messages.js";

/** The answer of a handler; `transfer` moves buffers instead of copying them. */
export interface Answer<T> {
  result: T;
  transfer?: Transferable[];
}

/** One handler for each request. */
export type Handlers = {
  [N in RequestName]: (
    params: Requests[N]["params"],
    signal: AbortSignal,
  ) => Answer<Requests[N]["result"]> | Promise<Answer<Requests[N]["result"]>>;
};

interface Job {
  id: number;
  name: RequestName;
  params: unknown;
}

/**
 * Answers requests in order, one per task, so that a cancel message can remove a request that still
 * waits in the queue.
 */
export class Responder {
  readonly #endpoint: Endpoint;
  readonly #handlers: Handlers;
  readonly #queue = new Map<number, Job>();
  readonly #running = new Map<number, AbortController>();
  #isClosed = false;

  constructor(endpoint: Endpoint, handlers: Handlers) {
    this.#endpoint = endpoint;
    this.#handlers = handlers;
    endpoint.addEventListener("message", ({ data }) => {
      if (this.#isClosed) return;
      if (data.type === "request") {
        this.#queue.set(data.id, data);
        void yieldToEventLoop().then(() => this.#runNext());
      } else if (data.type === "cancel") {
        this.#queue.delete(data.id);
        this.#running.get(data.id)?.abort();
      }
    });
    // For example a compiled module that this worker may not share. The request is not known.
    endpoint.addEventListener("messageerror", () => this.notify("crash", workerLost().toJSON()));
    endpoint.start?.();
  }

  /** Aborts all work, and answers no more. */
  close(): void {
    this.#isClosed = true;
    this.#queue.clear();
    for (const running of this.#running.values()) running.abort();
  }

  notify<N extends NoticeName>(name: N, data: Notices[N]): void {
    this.#endpoint.postMessage({ type: "notice", name, data }, []);
  }

  async #runNext(): Promise<void> {
    const next = this.#queue.values().next();
    if (next.done) return;
    const { id, name, params } = next.value;
    this.#queue.delete(id);
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const handler = this.#handlers[name] as (
        params: unknown,
        signal: AbortSignal,
      ) => Answer<unknown> | Promise<Answer<unknown>>;
      const { result, transfer } = await handler(params, controller.signal);
      this.#endpoint.postMessage({ type: "result", id, result }, transfer ?? []);
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "worker_failed").toJSON();
      this.#endpoint.postMessage({ type: "error", id, error }, []);
    } finally {
      this.#running.delete(id);
    }
  }
}
