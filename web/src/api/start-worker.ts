import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { Endpoint } from "../rpc/endpoint.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { Message, WasmModule, WorkerNews } from "../rpc/messages.js";
import { type TableWorker, takeIdleWorker, WorkerLease, watchWorker } from "./worker-lease.js";

/** What `worker.js` exports. */
export interface WorkerModule {
  /** Serves one table through `endpoint`. The returned function stops it and frees the rows. */
  serve(endpoint: Endpoint): () => void;
}

/** Whether to use a worker, and where its files are. */
export interface WorkerOptions {
  /**
   * Whether to decode in a worker; default true. If workers do not exist (Node) or the page's policy
   * forbids them, the calling thread decodes in slices of 8 ms.
   */
  worker?: boolean | undefined;
  /**
   * Address of `worker.js`; default: the folder of the package's script. From another origin it starts
   * through a `blob:` address, which the page's policy has to allow.
   */
  workerSrc?: string | URL | undefined;
  /** Address of `colonnade.wasm`; default: the folder of `worker.js`. */
  wasmSrc?: string | URL | undefined;
}

/** How the worker's code is loaded. The single-file bundle contains it. */
export interface WorkerCode {
  /** Starts a worker that posts `ready`. */
  make(): Worker;
  load(): Promise<WorkerModule>;
  /** The wasm module; undefined if the worker loads it itself. */
  wasm(): Promise<WasmModule | undefined>;
}

let compiled: Promise<WebAssembly.Module | undefined> | undefined;

// Bundlers recognise these expressions and emit the files; this package's own build leaves them alone.
const BESIDE: WorkerCode = {
  make: () => {
    const beside = import.meta.url.replace(/[^/]*$/, "worker.js");
    if (isCrossOrigin(beside)) return workerAt(beside);
    return new Worker(new URL(/* @vite-ignore */ "./worker.js", import.meta.url), {
      type: "module",
      name: "colonnade",
    });
  },
  load: () => import("../worker.js"),
  // Compiled once for all workers, while the first one starts. If that fails, the worker loads the
  // module itself and reports the error.
  wasm: async () => {
    if (globalThis.Worker === undefined) return undefined;
    const url = new URL(/* @vite-ignore */ "./colonnade.wasm", import.meta.url);
    compiled ??= WebAssembly.compileStreaming(fetch(url)).catch(() => undefined);
    return compiled;
  },
};

let workerCode = BESIDE;

/** Sets how the worker's code is loaded, if not from a file beside this module. */
export function setWorkerCode(other: WorkerCode): void {
  workerCode = other;
}

/** The wasm module or its address; undefined if the worker at `workerSrc` loads it from beside itself. */
export async function findWasm({
  workerSrc,
  wasmSrc,
}: WorkerOptions): Promise<WasmModule | string | undefined> {
  if (wasmSrc !== undefined) return new URL(wasmSrc, globalThis.document?.baseURI).href;
  return workerSrc !== undefined && workerCode === BESIDE ? undefined : workerCode.wasm();
}

/**
 * Takes an idle worker or starts a new one. If workers are unavailable, this thread serves the table.
 * Rejects with `worker_unavailable` if neither works. If `signal` aborts before `opened` does, a started
 * worker is released in the same task, so that a table opened there instead can take it. One that is still
 * starting is terminated.
 */
export async function startWorker(
  { worker = true, workerSrc, wasmSrc }: WorkerOptions,
  signal: AbortSignal | undefined,
  opened: AbortSignal,
): Promise<TableWorker> {
  const releaseOnAbort = (started: TableWorker) => {
    if (signal?.aborted) started.release();
    else signal?.addEventListener("abort", () => started.release(), { signal: opened });
    return started;
  };
  const { make, load } = workerSrc === undefined ? workerCode : codeAt(workerSrc);
  let reason = "";
  if (worker && globalThis.Worker !== undefined) {
    const kind = `${workerSrc} ${wasmSrc}`;
    try {
      const own = takeIdleWorker(kind) ?? (await startedWorker(make(), signal));
      return releaseOnAbort(new WorkerLease(own, kind));
    } catch (thrown) {
      if (signal?.aborted) throw cancelledError();
      reason = thrown instanceof Error ? thrown.message : String(thrown);
    }
  }
  try {
    const here = serveHere(await load());
    if (reason) console.warn(`colonnade decodes on the page's thread: ${reason}`);
    return releaseOnAbort(here);
  } catch (thrown) {
    reason ||= thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError("worker_unavailable", `Could not start a worker: ${reason}`, {
      hint: "Check that worker.js is at workerSrc (worker-src) and that the page's policy allows it.",
    });
  }
}

function codeAt(workerSrc: string | URL): WorkerCode {
  const { href } = new URL(workerSrc, globalThis.document?.baseURI);
  return {
    make: () => workerAt(href),
    load: () => import(/* @vite-ignore */ /* webpackIgnore: true */ href),
    wasm: async () => undefined,
  };
}

/** Whether `href` has another origin than the page. */
function isCrossOrigin(href: string): boolean {
  return /^https?:/.test(href) && new URL(href).origin !== globalThis.location?.origin;
}

/** The `blob:` addresses of cross-origin workers, by their own addresses. */
const shims = new Map<string, string>();

/** Starts the worker at `href`. Its file must be same-origin with the page, but its imports need not be. */
function workerAt(href: string): Worker {
  let address = href;
  if (isCrossOrigin(href)) {
    const shim = new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" });
    address = shims.get(href) ?? URL.createObjectURL(shim);
    shims.set(href, address);
  }
  return new Worker(address, { type: "module", name: "colonnade" });
}

/** Resolves with the worker at its first message. */
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
        fail(event.message || "the browser gave no reason.");
      },
      { once: true },
    );
    worker.addEventListener("message", ({ data }: MessageEvent<WorkerNews>) => {
      signal?.removeEventListener("abort", abort);
      if (data === "ready") resolve(worker);
      else void watchWorker(worker, data.lock);
    });
  });
}

function serveHere({ serve }: WorkerModule): TableWorker {
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
