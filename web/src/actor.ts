import { ColonnadeError } from "./errors.js";
import type {
  KernelWork,
  Message,
  NoticeName,
  Notices,
  RequestName,
  Requests,
  ViewInfo,
} from "./messages.js";
import { letMessagesIn } from "./turns.js";

/** The part of Worker, MessagePort and a worker's own scope that actors use. */
export interface Endpoint {
  postMessage(message: Message, transfer: Transferable[]): void;
  addEventListener(type: "message", listener: (event: MessageEvent<Message>) => void): void;
  /** A port's messages wait for this. */
  start?(): void;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: ColonnadeError): void;
}

/** Asks a {@link Responder} at the other end of a port. No request stays pending forever. */
export class Requester {
  readonly #endpoint: Endpoint;
  readonly #pending = new Map<number, Pending>();
  readonly #jobs = new Map<number, (fraction: number) => void>();
  #nextId = 1;
  #nextJob = 1;
  #failure: ColonnadeError | undefined;

  constructor(
    endpoint: Endpoint,
    onNotice: <N extends NoticeName>(name: N, data: Notices[N]) => void,
  ) {
    this.#endpoint = endpoint;
    endpoint.addEventListener("message", ({ data }) => {
      switch (data.type) {
        case "result":
          this.#take(data.id)?.resolve(data.result);
          break;
        case "error":
          this.#take(data.id)?.reject(ColonnadeError.fromPlain(data.error));
          break;
        case "notice":
          if (data.name === "job") {
            const { job, fraction } = data.data as Notices["job"];
            this.#jobs.get(job)?.(fraction);
            break;
          }
          onNotice(data.name, data.data as Notices[typeof data.name]);
          break;
      }
    });
    endpoint.start?.();
  }

  /** Sends a request. When `signal` aborts, rejects with code `cancelled` and tells the worker. */
  request<N extends RequestName>(
    name: N,
    params: Requests[N]["params"],
    options: { signal?: AbortSignal | undefined; transfer?: Transferable[] } = {},
  ): Promise<Requests[N]["result"]> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      const { signal, transfer = [] } = options;
      const cancelled = () => new ColonnadeError("cancelled", "The request was cancelled.");
      if (signal?.aborted) return reject(cancelled());
      const id = this.#nextId++;
      const onAbort = () => {
        this.#endpoint.postMessage({ type: "cancel", id }, []);
        this.#take(id)?.reject(cancelled());
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const settled = () => signal?.removeEventListener("abort", onAbort);
      this.#pending.set(id, {
        resolve: (result) => {
          settled();
          resolve(result as Requests[N]["result"]);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      try {
        this.#endpoint.postMessage({ type: "request", id, name, params }, transfer);
      } catch (thrown) {
        this.#take(id)?.reject(ColonnadeError.from(thrown, "worker_failed"));
      }
    });
  }

  /** Asks for work that tells how far it is. */
  async run(
    work: KernelWork,
    signal: AbortSignal | undefined,
    onProgress: ((fraction: number) => void) | undefined,
  ): Promise<ViewInfo | string> {
    const job = this.#nextJob++;
    if (onProgress !== undefined) this.#jobs.set(job, onProgress);
    try {
      return await this.request("run", { job, work }, { signal });
    } finally {
      this.#jobs.delete(job);
    }
  }

  /** Rejects everything pending, and everything asked later. */
  fail(error: ColonnadeError): void {
    this.#failure = error;
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(error);
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }
}

/** What a handler answers with; `transfer` moves buffers instead of copying them. */
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
 * Answers requests in order, one a task: a cancel that has arrived meanwhile overtakes the work
 * that waits, so a request nobody wants any more costs nothing.
 */
export class Responder {
  readonly #endpoint: Endpoint;
  readonly #handlers: Handlers;
  readonly #queue = new Map<number, Job>();
  readonly #running = new Map<number, AbortController>();

  constructor(endpoint: Endpoint, handlers: Handlers) {
    this.#endpoint = endpoint;
    this.#handlers = handlers;
    endpoint.addEventListener("message", ({ data }) => {
      if (data.type === "request") {
        this.#queue.set(data.id, data);
        void letMessagesIn().then(() => this.#runNext());
      } else if (data.type === "cancel") {
        this.#queue.delete(data.id);
        this.#running.get(data.id)?.abort();
      }
    });
    endpoint.start?.();
  }

  /** Gives up all work. */
  close(): void {
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
