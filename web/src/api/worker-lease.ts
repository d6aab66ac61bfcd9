import type { Endpoint } from "../rpc/endpoint.js";
import type { Message, WorkerOrder } from "../rpc/messages.js";

/** What serves one table: a worker, or what stands in for one on this thread. */
export interface TableWorker extends Endpoint {
  addEventListener(type: "message", listener: (event: MessageEvent<Message>) => void): void;
  addEventListener(type: "error" | "messageerror", listener: (event: Event) => void): void;
  /** The table is closed: its rows are let go, and the worker is there for another. */
  release(): void;
  /** The worker is not to be trusted any more. */
  terminate(): void;
}

/** One table's place at a worker. */
export class Seat implements TableWorker {
  readonly #worker: Worker;
  readonly #kind: string;
  readonly #port: MessagePort;
  readonly #left = new AbortController();

  /** @param kind of workers that can stand in for each other */
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
    const { signal } = this.#left;
    target.addEventListener(type, listener as EventListener, { signal });
  }

  start(): void {
    this.#port.start();
  }

  release(): void {
    if (!this.#leave()) return;
    this.#worker.postMessage("rest" satisfies WorkerOrder);
    keepIdle(this.#worker, this.#kind);
  }

  terminate(): void {
    if (this.#leave()) this.#worker.terminate();
  }

  /** Whether this was not done before. */
  #leave(): boolean {
    if (this.#left.signal.aborted) return false;
    this.#left.abort();
    this.#port.close();
    return true;
  }
}

/** How long a worker without a table is kept: code and memory that were used before are fast. */
const IDLE_MS = 30_000;

let idle: { worker: Worker; kind: string; timer: ReturnType<typeof setTimeout> } | undefined;

function keepIdle(worker: Worker, kind: string): void {
  dismissIdle();
  idle = { worker, kind, timer: setTimeout(dismissIdle, IDLE_MS) };
}

/** A worker of this kind that no table uses, if there is one. */
export function takeIdle(kind: string): Worker | undefined {
  if (idle?.kind !== kind) return undefined;
  const { worker, timer } = idle;
  clearTimeout(timer);
  idle = undefined;
  return worker;
}

function dismissIdle(): void {
  if (idle === undefined) return;
  clearTimeout(idle.timer);
  idle.worker.terminate();
  idle = undefined;
}
