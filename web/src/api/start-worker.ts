import { workerUnavailable } from "../model/errors.js";
import type { WasmModule } from "../rpc/messages.js";
import type { WorkerModule } from "./serve-here.js";
import { type TableWorker, takeIdleWorker, WorkerLease } from "./worker-lease.js";
import { started, watchWorker } from "./worker-life.js";

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
  /** Starts a worker, which says when it is ready. */
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
 * Takes an idle worker or makes a new one, which may still be starting: {@link TableWorker.ready}. Without `worker`,
 * this thread serves the table. Rejects with `worker_unavailable`. If `signal` aborts before `opened` does, a worker is
 * released in the same task, so that a table opened there instead can take it.
 */
export async function startWorker(
  { worker = true, workerSrc, wasmSrc }: WorkerOptions,
  signal: AbortSignal | undefined,
  opened: AbortSignal,
): Promise<TableWorker> {
  const { make, load } = workerSrc === undefined ? workerCode : codeAt(workerSrc);
  let lease: TableWorker;
  if (worker && globalThis.Worker !== undefined) {
    const kind = `${workerSrc} ${wasmSrc}`;
    lease = new WorkerLease(takeIdleWorker(kind) ?? newWorker(make), kind);
  } else {
    const [module, { serveHere }] = await Promise.all([started(load()), import("./serve-here.js")]);
    lease = serveHere(module);
  }
  if (signal?.aborted) lease.release();
  else signal?.addEventListener("abort", () => lease.release(), { signal: opened });
  return lease;
}

function newWorker(make: () => Worker): Worker {
  try {
    const worker = make();
    watchWorker(worker);
    return worker;
  } catch (thrown) {
    throw workerUnavailable(thrown);
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
