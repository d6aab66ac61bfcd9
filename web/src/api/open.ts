import { cancelledError } from "../model/errors.js";
import { PAGE_MEMORY_BYTES } from "./memory-share.js";
import { prepareSource, type RequestOptions, type TableSource } from "./source.js";
import { findWasm, startWorker, type WorkerOptions } from "./start-worker.js";
import { Table } from "./table.js";

/** Options of {@link open}. */
export interface OpenOptions extends RequestOptions, WorkerOptions {
  /** Stops the stream, as {@link Table.cancel} does. */
  signal?: AbortSignal | undefined;
  /**
   * Memory budget of the rows, in bytes. By default, the tables of a page share 1 GiB. A larger table becomes
   * `windowed` if the source can answer by row; otherwise reading pauses ({@link Table.paused}).
   */
  memoryBytes?: number | undefined;
  /** The expected number of rows, if known from elsewhere; used only for progress. */
  totalRows?: number | undefined;
}

/** What the tables of a page share if they have no `memoryBytes` of their own: 1 GiB. */
export const DEFAULT_MEMORY_BYTES = PAGE_MEMORY_BYTES;

/**
 * Opens a table. Resolves once its schema is known, while rows still arrive. Rejects with a
 * `ColonnadeError` if the schema cannot be read.
 */
export function open(source: TableSource, options: OpenOptions = {}): Promise<Table> {
  return openFor({}, source, options);
}

/** Options that only the element sets. */
interface ElementOptions {
  /** The expected number of rows, known because the server sorts a table of that many rows. */
  numRows?: number | undefined;
  /** A viewer shows the table: after the first rows, reading pauses until they are painted. */
  isShown?: boolean;
}

/** Like {@link open}, with the options that only the element sets. */
export async function openFor(
  { numRows, isShown = false }: ElementOptions,
  source: TableSource,
  options: OpenOptions,
): Promise<Table> {
  const { signal, memoryBytes, totalRows } = options;
  if (signal?.aborted) throw cancelledError();
  // Comes first, so that the worker starts while the page prepares the source.
  const opened = new AbortController();
  const starting = startWorker(options, signal, opened.signal);
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
    opened.abort();
  }
}
