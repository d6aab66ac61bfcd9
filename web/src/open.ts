import { ColonnadeError, cancelledError } from "./errors.js";
import { prepareSource, type RequestOptions, type TableSource } from "./source.js";
import { Table } from "./table.js";

/** Options of {@link open}. */
export interface OpenOptions extends RequestOptions {
  /** Stops the stream, as {@link Table.cancel} does. */
  signal?: AbortSignal | undefined;
  /**
   * The most memory the rows may take, in bytes; default 1 GiB. A larger table is `windowed` where
   * the source answers by row, and waits otherwise ({@link Table.paused}).
   */
  memoryBytes?: number | undefined;
  /** The number of rows to expect, where it is known from elsewhere; only used for progress. */
  totalRows?: number | undefined;
  /** Where `worker.js` is, if not beside this module. Must be of the page's origin. */
  workerSrc?: string | URL | undefined;
  /** Where `colonnade.wasm` is, if not beside the worker. */
  wasmSrc?: string | URL | undefined;
}

/** The budget of the rows unless `memoryBytes` says otherwise. */
export const DEFAULT_MEMORY_BYTES = 1024 ** 3;

/**
 * Opens a table. Resolves once its schema is known, while rows still arrive; rejects with a
 * {@link ColonnadeError} if that never happens.
 */
export async function open(source: TableSource, options: OpenOptions = {}): Promise<Table> {
  const { signal, memoryBytes = DEFAULT_MEMORY_BYTES, totalRows, workerSrc, wasmSrc } = options;
  if (signal?.aborted) throw cancelledError();
  const prepared = await prepareSource(source, options);
  if (signal?.aborted) throw cancelledError();
  const base = globalThis.document?.baseURI;
  return Table.start(makeWorker(workerSrc), prepared, {
    signal,
    memoryBytes,
    totalRows,
    wasmUrl: wasmSrc === undefined ? undefined : new URL(wasmSrc, base).href,
  });
}

function makeWorker(workerSrc: string | URL | undefined): Worker {
  try {
    if (workerSrc !== undefined) return new Worker(workerSrc, { type: "module" });
    // Bundlers know this expression and place the file; this package's own build leaves it alone.
    return new Worker(new URL(/* @vite-ignore */ "./worker.js", import.meta.url), {
      type: "module",
    });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError("worker_unavailable", `Could not start a worker: ${reason}`, {
      hint: "worker.js must come from the page's own origin, and a content security policy must allow it in worker-src.",
    });
  }
}
