import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { Endpoint } from "../rpc/endpoint.js";
import { letMessagesIn } from "../rpc/event-loop.js";
import type { Message, WasmModule } from "../rpc/messages.js";
import { Seat, type TableWorker, takeIdle } from "./worker-lease.js";

/** What `worker.js` exports. */
export interface WorkerModule {
  /** Serves one table through `endpoint`; the answer ends that and lets go of the rows. */
  serve(endpoint: Endpoint): () => void;
}

/** Which worker to start. */
export interface WorkerOptions {
  /**
   * Whether to decode in a worker; default true. Where there are none (Node) or the page's policy
   * allows none, this thread decodes, in slices of 8 ms.
   */
  worker?: boolean | undefined;
  /**
   * Where `worker.js` is, if not beside this module. From another origin it starts by a `blob:`
   * address, which the page's policy has to allow.
   */
  workerSrc?: string | URL | undefined;
  /** Where `colonnade.wasm` is, if not beside the worker. */
  wasmSrc?: string | URL | undefined;
}

/** How to reach the worker's code; the bundle that is one file has ways of its own. */
export interface WorkerHome {
  /** A worker that will say `ready`. */
  make(): Worker;
  load(): Promise<WorkerModule>;
  /** The wasm module; undefined where the worker's own code is to find it. */
  wasm(): Promise<WasmModule | undefined>;
}

let compiled: Promise<WebAssembly.Module | undefined> | undefined;

// Bundlers know these expressions and place the file; this package's own build leaves them alone.
const BESIDE: WorkerHome = {
  make: () => {
    const beside = import.meta.url.replace(/[^/]*$/, "worker.js");
    if (isFar(beside)) return workerAt(beside);
    return new Worker(new URL(/* @vite-ignore */ "./worker.js", import.meta.url), {
      type: "module",
      name: "colonnade",
    });
  },
  load: () => import("../worker.js"),
  // It compiles while the worker starts, and once for all workers. Why it failed, a worker tells.
  wasm: async () => {
    if (globalThis.Worker === undefined) return undefined;
    const url = new URL(/* @vite-ignore */ "./colonnade.wasm", import.meta.url);
    compiled ??= WebAssembly.compileStreaming(fetch(url)).catch(() => undefined);
    return compiled;
  },
};

let home = BESIDE;

/** Says where the worker's code is, if not in a file beside this module. */
export function setWorkerHome(other: WorkerHome): void {
  home = other;
}

/** The wasm module or its address; undefined where it is beside a worker that is elsewhere. */
export async function findWasm({
  workerSrc,
  wasmSrc,
}: WorkerOptions): Promise<WasmModule | string | undefined> {
  if (wasmSrc !== undefined) return new URL(wasmSrc, globalThis.document?.baseURI).href;
  return workerSrc !== undefined && home === BESIDE ? undefined : home.wasm();
}

/**
 * A worker that another table has left, or a new one; or serves on this thread where there can be
 * none. Rejects with `worker_unavailable` where neither works.
 */
export async function startWorker(
  { worker = true, workerSrc, wasmSrc }: WorkerOptions,
  signal: AbortSignal | undefined,
): Promise<TableWorker> {
  const { make, load } = workerSrc === undefined ? home : homeAt(workerSrc);
  let reason = "";
  if (worker && globalThis.Worker !== undefined) {
    const kind = `${workerSrc} ${wasmSrc}`;
    try {
      return new Seat(takeIdle(kind) ?? (await startedWorker(make(), signal)), kind);
    } catch (thrown) {
      if (signal?.aborted) throw cancelledError();
      reason = thrown instanceof Error ? thrown.message : String(thrown);
    }
  }
  try {
    const here = serveHere(await load());
    if (reason) console.warn(`colonnade decodes on the page's own thread: ${reason}`);
    return here;
  } catch (thrown) {
    reason ||= thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError("worker_unavailable", `Could not start a worker: ${reason}`, {
      hint: "Is worker.js where workerSrc or worker-src says, and allowed by the page's policy?",
    });
  }
}

function homeAt(workerSrc: string | URL): WorkerHome {
  const { href } = new URL(workerSrc, globalThis.document?.baseURI);
  return {
    make: () => workerAt(href),
    load: () => import(/* @vite-ignore */ /* webpackIgnore: true */ href),
    wasm: async () => undefined,
  };
}

/** Whether `href` is of another web server than the page. */
function isFar(href: string): boolean {
  return /^https?:/.test(href) && new URL(href).origin !== globalThis.location?.origin;
}

/** The `blob:` addresses of workers from afar, by where these are. */
const shims = new Map<string, string>();

/** A worker's file must be of the page's origin, what it imports need not be. */
function workerAt(href: string): Worker {
  let address = href;
  if (isFar(href)) {
    const shim = new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" });
    address = shims.get(href) ?? URL.createObjectURL(shim);
    shims.set(href, address);
  }
  return new Worker(address, { type: "module", name: "colonnade" });
}

/** Resolves with the worker at its first word. */
function startedWorker(worker: Worker, signal: AbortSignal | undefined): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      worker.terminate();
      reject(new Error(reason));
    };
    const abort = () => fail("it was cancelled.");
    signal?.addEventListener("abort", abort, { once: true });
    worker.addEventListener(
      "error",
      (event) => {
        event.preventDefault();
        fail(event.message || "the browser says no more.");
      },
      { once: true },
    );
    worker.addEventListener(
      "message",
      () => {
        signal?.removeEventListener("abort", abort);
        resolve(worker);
      },
      { once: true },
    );
  });
}

function serveHere({ serve }: WorkerModule): TableWorker {
  const [ours, theirs] = [new LocalEndpoint(), new LocalEndpoint()];
  ours.other = theirs;
  theirs.other = ours;
  const stop = serve(theirs as unknown as Endpoint);
  return Object.assign(ours as unknown as TableWorker, { release: stop, terminate: stop });
}

/** One end of a channel inside this thread. Nothing is copied: what is sent is given away. */
class LocalEndpoint extends EventTarget {
  other: LocalEndpoint | undefined;
  readonly #sent: Message[] = [];

  postMessage(message: Message): void {
    this.#sent.push(message);
    void letMessagesIn().then(() => {
      this.other?.dispatchEvent(new MessageEvent("message", { data: this.#sent.shift() }));
    });
  }
}
