import { cancelledError } from "../model/errors.js";
import type { Endpoint } from "../rpc/endpoint.js";
import type { IdleWorker, Message, WorkerOrder } from "../rpc/messages.js";
import { endWorker, lossOf, readyOf } from "./worker-life.js";

/** Serves one table: a worker, or its replacement on this thread. */
export interface TableWorker extends Endpoint {
  /** Resolves when the worker runs; rejects if it does not start, or is released before. */
  readonly ready?: Promise<void>;
  /** Aborts, with the error, when the worker has not started, or has ended although nobody ended it. */
  readonly loss?: AbortSignal | undefined;
  addEventListener(type: "message", listener: (event: MessageEvent<Message>) => void): void;
  addEventListener(type: "error" | "messageerror", listener: (event: Event) => void): void;
  /** The table is closed: its rows are freed, and another table may use the worker. */
  release(): void;
  /** Ends a worker that failed. */
  terminate(): void;
}

/** One table's use of a worker. Its end gives the worker back. */
export class WorkerLease implements TableWorker {
  readonly #worker: Worker;
  readonly #kind: string;
  readonly #port: MessagePort;
  readonly #ended = new AbortController();

  get ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      readyOf(this.#worker)?.then(resolve, reject);
      this.#ended.signal.addEventListener("abort", () => reject(cancelledError()));
    });
  }

  get loss(): AbortSignal | undefined {
    return lossOf(this.#worker);
  }

  /** @param kind workers of one kind are interchangeable */
  constructor(worker: Worker, kind: string) {
    const { port1, port2 } = new MessageChannel();
    this.#worker = worker;
    this.#kind = kind;
    this.#port = port1;
    worker.postMessage(port2 satisfies WorkerOrder, [port2]);
  }

  postMessage(message: Message, transfer: Transferable[]): void {
    this.#port.postMessage(message, transfer);
  }

  addEventListener(
    type: "message" | "error" | "messageerror",
    listener: (event: MessageEvent<Message> & ErrorEvent) => void,
  ): void {
    const target = type === "error" ? this.#worker : this.#port;
    const { signal } = this.#ended;
    target.addEventListener(type, listener as EventListener, { signal });
  }

  start(): void {
    this.#port.start();
  }

  release(): void {
    if (!this.#end()) return;
    this.#worker.postMessage("idle" satisfies WorkerOrder);
    keepIdleWorker(this.#worker, this.#kind);
  }

  terminate(): void {
    if (this.#end()) endWorker(this.#worker);
  }

  /** Returns false if already released. */
  #end(): boolean {
    if (this.#ended.signal.aborted) return false;
    this.#ended.abort();
    this.#port.close();
    return true;
  }
}

/** How long an idle worker is kept: its compiled code and touched memory make the next table fast. */
const IDLE_MS = 30_000;

/** The most memory of an idle worker. */
const MAX_IDLE_BYTES = 256 * 2 ** 20;

let idle: { worker: Worker; kind: string; taken: AbortController } | undefined;

function keepIdleWorker(worker: Worker, kind: string): void {
  endIdleWorker();
  const taken = new AbortController();
  idle = { worker, kind, taken };
  const timer = setTimeout(endIdleWorker, IDLE_MS);
  taken.signal.addEventListener("abort", () => clearTimeout(timer));
  const endLarge = ({ data }: MessageEvent<Partial<IdleWorker>>) => {
    if ((data.idleBytes ?? 0) > MAX_IDLE_BYTES) endIdleWorker();
  };
  worker.addEventListener("message", endLarge, taken);
}

/** An idle worker of this kind, if there is one. */
export function takeIdleWorker(kind: string): Worker | undefined {
  if (idle?.kind !== kind) return undefined;
  const { worker, taken } = idle;
  taken.abort();
  idle = undefined;
  return lossOf(worker)?.aborted ? undefined : worker;
}

function endIdleWorker(): void {
  if (idle === undefined) return;
  idle.taken.abort();
  endWorker(idle.worker);
  idle = undefined;
}
