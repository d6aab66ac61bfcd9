import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { Endpoint } from "./endpoint.js";
import type { NoticeName, Notices, RequestName, Requests, ViewInfo } from "./messages.js";

interface Pending {
  resolve(result: unknown): void;
  reject(error: ColonnadeError): void;
  settled(): void;
}

/** Sends requests to a {@link Responder} at the other end of a port. No request stays pending forever. */
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
        case "result": {
          const pending = this.#take(data.id);
          if (pending === undefined) this.#discard(data.result);
          else pending.resolve(data.result);
          break;
        }
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

  /** Sends a request. When `signal` aborts, rejects with code `cancelled` and cancels it in the worker. */
  request<N extends RequestName>(
    name: N,
    params: Requests[N]["params"],
    options: { signal?: AbortSignal | undefined; transfer?: Transferable[] } = {},
  ): Promise<Requests[N]["result"]> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      const { signal, transfer = [] } = options;
      if (signal?.aborted) return reject(cancelledError("request"));
      const id = this.#nextId++;
      const onAbort = () => {
        this.#endpoint.postMessage({ type: "cancel", id }, []);
        this.#take(id)?.reject(cancelledError("request"));
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#pending.set(id, {
        resolve: resolve as Pending["resolve"],
        reject,
        settled: () => signal?.removeEventListener("abort", onAbort),
      });
      try {
        this.#endpoint.postMessage({ type: "request", id, name, params }, transfer);
      } catch (thrown) {
        this.#take(id)?.reject(ColonnadeError.from(thrown, "worker_failed"));
      }
    });
  }

  /** Sends a request whose answer does not matter. */
  send<N extends RequestName>(name: N, params: Requests[N]["params"]): void {
    this.request(name, params).catch(() => undefined);
  }

  /** Requests work that reports its progress. */
  async run<N extends "run" | "finishSort">(
    name: N,
    params: Omit<Requests[N]["params"], "job">,
    signal: AbortSignal | undefined,
    onProgress: ((fraction: number) => void) | undefined,
  ): Promise<Requests[N]["result"]> {
    const job = this.#nextJob++;
    if (onProgress !== undefined) this.#jobs.set(job, onProgress);
    try {
      return await this.request(name, { ...params, job } as Requests[N]["params"], { signal });
    } finally {
      this.#jobs.delete(job);
    }
  }

  /** Rejects all pending and all later requests. */
  fail(error: ColonnadeError): void {
    this.#failure = error;
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(error);
  }

  /** A view that was finished when its request was cancelled holds memory. */
  #discard(result: unknown): void {
    const { view } = (result ?? {}) as Partial<ViewInfo>;
    if (view !== undefined) this.send("release", { view });
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.settled();
    return pending;
  }
}
