import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { WasmModule } from "../rpc/messages.js";
import type { WorkerModule } from "./serve-here.js";
import { type TableWorker, takeIdleWorker, WorkerLease } from "./worker-lease.js";
import { endWorker, type WorkerReady, watchWorker } from "./worker-life.js";

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
  /** Address of `reader.js`, which reads Parquet files; default: the folder of the package's script. */
  readerSrc?: string | URL | undefined;
}

/** How the worker's code is loaded. The single-file bundle contains it. */
export interface WorkerCode {
  /** Starts a worker that posts {@link WorkerReady}. */
  make(): Worker;
  load(): Promise<WorkerModule>;
  /** The wasm module; undefined if the worker loads it itself. */
  wasm(): Promise<WasmModule | undefined>;
}

/** How long the worker's script may take until it runs, in seconds. */
const START_S = 60;

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

/**
 * The wasm module or its address; undefined if the worker loads it from beside itself.
 *
 * @param isShared whether all workers may get one compiled module
 */
export async function findWasm(
  { workerSrc, wasmSrc }: WorkerOptions,
  isShared = true,
): Promise<WasmModule | string | undefined> {
  if (wasmSrc !== undefined) return new URL(wasmSrc, globalThis.document?.baseURI).href;
  const isBeside = workerCode === BESIDE && (workerSrc !== undefined || !isShared);
  return isBeside ? undefined : workerCode.wasm();
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
    const [module, { serveHere }] = await Promise.all([started(load()), import("./serve-here.js")]);
    const here = serveHere(module);
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
export function workerAt(href: string, name = "colonnade"): Worker {
  let address = href;
  if (isCrossOrigin(href)) {
    const shim = new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" });
    address = shims.get(href) ?? URL.createObjectURL(shim);
    shims.set(href, address);
  }
  return new Worker(address, { type: "module", name });
}

/** Resolves with the worker at its first message. Rejects if none comes within {@link START_S}. */
function startedWorker(worker: Worker, signal: AbortSignal | undefined): Promise<Worker> {
  const ready = new Promise<Worker>((resolve, reject) => {
    const abort = () => reject(new Error("it was cancelled."));
    signal?.addEventListener("abort", abort, { once: true });
    worker.addEventListener(
      "error",
      (event) => {
        event.preventDefault();
        reject(new Error(event.message || "the browser gave no reason."));
      },
      { once: true },
    );
    worker.addEventListener(
      "message",
      ({ data }: MessageEvent<WorkerReady>) => {
        signal?.removeEventListener("abort", abort);
        watchWorker(worker, data);
        resolve(worker);
      },
      { once: true },
    );
  });
  return started(ready).catch((thrown) => {
    endWorker(worker);
    throw thrown;
  });
}

/** Rejects if a script has not started within {@link START_S}. */
function started<T>(script: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // Time in which the page sleeps does not count.
    let leftS = START_S;
    const clock = setInterval(() => {
      if (leftS-- > 0) return;
      reject(new Error(`its script did not start within ${START_S} s.`));
    }, 1000);
    script.then(resolve, reject).finally(() => clearInterval(clock));
  });
}
