import { ColonnadeError, cancelledError, isWorkerGone } from "../model/errors.js";
import type { FirstCells } from "../rpc/messages.js";
import {
  canOpenAgain,
  type PreparedSource,
  prepareSource,
  type RequestOptions,
  type TableSource,
} from "./source.js";
import { findWasm, startWorker, type WorkerOptions } from "./start-worker.js";
import { Table } from "./table.js";

/** Options of {@link open}. */
export interface OpenOptions extends RequestOptions, WorkerOptions {
  /** Stops the stream, as {@link Table.cancel} does. */
  signal?: AbortSignal | undefined;
  /**
   * Memory budget of the rows, in bytes; default 1 GiB, or what the page's other tables leave
   * ({@link setPageMemory}). A larger table becomes `windowed` if the source can answer by row; otherwise reading
   * pauses ({@link Table.paused}).
   */
  memoryBytes?: number | undefined;
  /** Whether to read all rows of a remote Parquet file above 32 MB, instead of those that are looked at. */
  loadAll?: boolean | undefined;
  /** The expected number of rows, if known from elsewhere; used only for progress. */
  totalRows?: number | undefined;
}

/** The address of a Parquet file. Files at other addresses, and local ones, are known by their first bytes. */
const IS_PARQUET = /\.parquet(?:[?#]|$)/i;

/** The default of `memoryBytes`: 1 GiB. */
export const DEFAULT_MEMORY_BYTES = 1024 ** 3;

/**
 * Opens a table. Resolves once its schema is known, while rows still arrive. Rejects with a
 * `ColonnadeError` if the schema cannot be read.
 */
export function open(source: TableSource, options: OpenOptions = {}): Promise<Table> {
  return openFor({}, source, options);
}

/** Options that only the element sets. */
export interface ElementOptions {
  /** The expected number of rows, known because the server sorts a table of that many rows. */
  numRows?: number | undefined;
  /** A viewer shows these cells: after the first rows, reading pauses until they are painted. */
  firstCells?: FirstCells | undefined;
  /** Instead of the page's budget. */
  memoryBytes?: number;
  /** The server sorts or filters the rows, so that their numbers are not known. */
  isArranged?: boolean;
  /** Makes the source, if it is rows of a Parquet file that is open. */
  prepare?: (() => PreparedSource) | undefined;
}

/** Like {@link open}, with the options that only the element sets. */
export async function openFor(
  element: ElementOptions,
  source: TableSource,
  options: OpenOptions,
): Promise<Table> {
  try {
    return await openOnce(element, source, options, findWasm(options));
  } catch (thrown) {
    if (!(thrown instanceof ColonnadeError)) throw thrown;
    if (thrown.code === "worker_unavailable" && options.worker !== false) {
      console.warn(`colonnade decodes on the page's thread: ${thrown.message}`);
      return openFor(element, source, { ...options, worker: false });
    }
    if (!canOpenAgain(source)) throw thrown;
    const isParquet = thrown.message.startsWith("this is a Parquet");
    if (isParquet) return openOnce(element, source, options, findWasm(options), true);
    // It may have ended because it could not take the compiled module.
    if (isWorkerGone(thrown)) return openOnce(element, source, options, findWasm(options, false));
    throw thrown;
  }
}

async function openOnce(
  { numRows, prepare, ...element }: ElementOptions,
  source: TableSource,
  options: OpenOptions,
  finding: ReturnType<typeof findWasm>,
  isParquet = IS_PARQUET.test((source as URL).href ?? (typeof source === "string" ? source : "")),
): Promise<Table> {
  const { signal, memoryBytes = DEFAULT_MEMORY_BYTES, totalRows } = options;
  if (signal?.aborted) throw cancelledError();
  // The table handles it, if it comes so far.
  finding.catch(() => undefined);
  // Comes first, so that the worker starts while the page prepares the source.
  const opened = new AbortController();
  const starting = startWorker(options, signal, opened.signal);
  const preparing = (async () => {
    // What can be read only once is left alone until the worker runs.
    if (!canOpenAgain(source)) await (await starting).ready;
    return prepare?.() ?? prepareAny(source, options, isParquet);
  })();
  try {
    const [worker, prepared] = await Promise.all([starting, preparing]);
    if (signal?.aborted) throw cancelledError();
    const { wire } = prepared;
    if (wire.kind === "url" && wire.query !== undefined) wire.query.expectedRows = numRows;
    return await Table.start(worker, prepared, {
      signal,
      memoryBytes,
      totalRows,
      wasm: finding,
      ...element,
    });
  } catch (thrown) {
    const nothing = () => undefined;
    starting.then((unused) => unused.release(), nothing);
    preparing.then(({ port }) => port?.close(), nothing);
    throw thrown;
  } finally {
    opened.abort();
  }
}

/** Prepares a source for the worker: a Parquet file for its reader, which is loaded with the first such file. */
async function prepareAny(
  source: TableSource,
  options: OpenOptions,
  isParquet: boolean,
): Promise<PreparedSource> {
  if (!isParquet) return prepareSource(source, options);
  const { prepareFile } = await import("./file-table.js");
  return prepareFile(source, options, options.memoryBytes ?? DEFAULT_MEMORY_BYTES);
}
