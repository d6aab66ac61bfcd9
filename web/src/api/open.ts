import { cancelledError } from "../model/errors.js";
import { prepareSource, type RequestOptions, type TableSource } from "./source.js";
import { findWasm, startWorker, type WorkerOptions } from "./start-worker.js";
import { Table } from "./table.js";
import type { TableWorker } from "./worker-lease.js";

/** Options of {@link open}. */
export interface OpenOptions extends RequestOptions, WorkerOptions {
  /** Stops the stream, as {@link Table.cancel} does. */
  signal?: AbortSignal | undefined;
  /**
   * The most memory the rows may take, in bytes; default 1 GiB. A larger table is `windowed` where
   * the source answers by row, and waits otherwise ({@link Table.paused}).
   */
  memoryBytes?: number | undefined;
  /** The number of rows to expect, where it is known from elsewhere; only used for progress. */
  totalRows?: number | undefined;
}

/** The budget of the rows unless `memoryBytes` says otherwise. */
export const DEFAULT_MEMORY_BYTES = 1024 ** 3;

/**
 * Opens a table. Resolves once its schema is known, while rows still arrive; rejects with a
 * `ColonnadeError` if that never happens.
 */
export function open(source: TableSource, options: OpenOptions = {}): Promise<Table> {
  return openFor({}, source, options);
}

/** Options that only the element sets. */
interface ElementOptions {
  /** The expected number of a server's rows: that of the same rows in another order. */
  numRows?: number | undefined;
  /** Rows are painted as soon as some have arrived; reading pauses until then. */
  isShown?: boolean;
}

/** As {@link open}. */
export async function openFor(
  { numRows, isShown = false }: ElementOptions,
  source: TableSource,
  options: OpenOptions,
): Promise<Table> {
  const { signal, memoryBytes = DEFAULT_MEMORY_BYTES, totalRows } = options;
  if (signal?.aborted) throw cancelledError();
  // First, because it starts while the page prepares the source.
  const starting = startWorker(options, signal);
  const opening = new AbortController();
  const releaseOnAbort = (worker: TableWorker) => {
    // At once: a table that is opened in place of this one, in the same task, takes the worker.
    signal?.addEventListener("abort", () => worker.release(), { signal: opening.signal });
  };
  starting.then(releaseOnAbort).catch(() => undefined);
  const preparing = [starting, findWasm(options), prepareSource(source, options)] as const;
  try {
    const [worker, wasm, prepared] = await Promise.all(preparing).catch((thrown) => {
      starting.then((unused) => unused.release()).catch(() => undefined);
      throw thrown;
    });
    if (signal?.aborted) throw cancelledError();
    const { wire } = prepared;
    if (wire.kind === "url" && wire.query !== undefined) wire.query.expectedRows = numRows;
    return await Table.start(worker, prepared, { signal, memoryBytes, totalRows, wasm, isShown });
  } finally {
    opening.abort();
  }
}
