import { type Fetch, fetchThrough } from "../http/fetch-bridge.js";
import { claimQuery } from "../http/query-request.js";
import { serveFetch } from "../http/serve-ports.js";
import type { Arrangement } from "../model/arrangement.js";
import { ColonnadeError } from "../model/errors.js";
import type { FileFacts, FileOrder, FileSource } from "../model/file-source.js";
import { predicateJson } from "../model/predicate.js";
import type { ReaderOrder } from "../reader.js";
import type { WasmModule } from "../rpc/messages.js";
import { MemoryShare } from "./page-memory.js";
import {
  type OpenedFile,
  type PreparedSource,
  type RequestOptions,
  type TableSource,
  urlOf,
} from "./source.js";
import { findWasm, type WorkerOptions, workerAt } from "./start-worker.js";
import { lossOf, readyOf, watchWorker } from "./worker-life.js";

/** Where the reader answers. Nothing is ever sent there. */
const TABLE = "http://reader.localhost/v1/tables/file";

/** The name by which the worker knows itself. */
const NAME = "colonnade-reader";

/** The share of the memory budget that is for columns which are computed with. */
const COMPUTED_SHARE = 1 / 4;

/** How many times the least memory of all its rows a file may take, with columns that are computed with. */
const MEMORY_RATIO = 2;

/** What `reader.js` exports. */
interface ReaderModule {
  serveFile(order: FileOrder): ReaderFile;
}

/** A file that the reader has open. */
interface ReaderFile {
  serve(ports: MessagePort[]): void;
  useDecoder(wasm: WasmModule | string | undefined): void;
  close(): void;
}

/** The reader of this page's files. */
interface Reader {
  /** Aborts, with the error, when its worker has ended although nobody ended it. */
  loss?: AbortSignal | undefined;
  open(order: FileOrder, transfer: Transferable[]): ReaderFile;
}

const readers = new Map<string, Promise<Reader>>();

type FileOptions = RequestOptions &
  WorkerOptions & { signal?: AbortSignal | undefined; loadAll?: boolean | undefined };

/** A local or remote Parquet file as a source that a worker reads like a server's table. */
export async function prepareFile(
  source: TableSource,
  options: FileOptions,
  maxBytes: number,
): Promise<PreparedSource> {
  const { headers, credentials = "same-origin", fetch, signal, loadAll = false } = options;
  const transfer: Transferable[] = [];
  let file: FileSource;
  if (typeof source === "string" || source instanceof URL) {
    file = {
      kind: "remote",
      url: urlOf(source).href,
      headers: [...new Headers(headers)],
      credentials,
    };
    if (fetch !== undefined) {
      const { port1, port2 } = new MessageChannel();
      serveFetch(fetch, port1);
      file.fetch = port2;
      transfer.push(port2);
    }
  } else {
    file = { kind: "blob", blob: source instanceof Blob ? source : new Blob([source as BlobPart]) };
  }
  const reader = await readerOf(options);
  const share = new MemoryShare(maxBytes);
  const memoryBytes = share.grow(maxBytes);
  const computedBytes = memoryBytes * COMPUTED_SHARE;
  const opened = reader.open({ file, memoryBytes, computedBytes }, transfer);
  // The table says itself that the module cannot be loaded; the file then looks beside the reader.
  void findWasm(options)
    .catch(() => undefined)
    .then(opened.useDecoder);
  const onDemandBytes = loadAll ? undefined : memoryBytes - computedBytes;
  const open = new OpenFile(opened, share, onDemandBytes, reader.loss, signal);
  return open.rows({ sort: [], filter: null });
}

/** A file of which tables are open. */
class OpenFile {
  readonly #file: ReaderFile;
  /** What all its tables, and the columns that are computed with, may take of the page's memory. */
  readonly #share: MemoryShare;
  readonly #onDemandBytes: number | undefined;
  readonly #loss: AbortSignal | undefined;
  readonly #signal: AbortSignal | undefined;
  #numTables = 0;

  constructor(
    file: ReaderFile,
    share: MemoryShare,
    onDemandBytes: number | undefined,
    loss: AbortSignal | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#file = file;
    this.#share = share;
    this.#onDemandBytes = onDemandBytes;
    this.#loss = loss;
    this.#signal = signal;
  }

  /** The rows in an arrangement. The file is closed with the last source of its rows. */
  rows({ sort, filter }: Arrangement): PreparedSource {
    const [ours, workers] = [new MessageChannel(), new MessageChannel()];
    this.#file.serve([ours.port2, workers.port2]);
    this.#numTables++;
    let isOpen = true;
    const close = () => {
      ours.port1.close();
      if (isOpen && --this.#numTables === 0) {
        this.#file.close();
        this.#share.close();
      }
      isOpen = false;
    };
    const parameters = new URLSearchParams();
    if (filter !== null) parameters.set("filter", predicateJson(filter));
    const keys = sort.map(
      ({ column, descending }) => `${descending ? "-" : ""}"${column.replaceAll('"', '""')}"`,
    );
    if (keys.length > 0) parameters.set("sort", keys.join(","));
    const wire = claimQuery({
      kind: "url",
      url: `${TABLE}/rows?${parameters}`,
      method: "GET",
      headers: [],
      body: null,
      credentials: "omit",
    });
    wire.fetch = workers.port1;
    if (wire.query !== undefined) wire.query.onDemandBytes = this.#onDemandBytes;
    const send = fetchThrough(ours.port1);
    const file: OpenedFile = { arranged: (wanted) => this.rows(wanted) };
    void learn(send, file, this.#signal)
      .then(() => this.#share.trim(MEMORY_RATIO * (file.leastMemoryBytes ?? Infinity)))
      .catch(close);
    const loss = this.#loss;
    return { wire, transfer: [workers.port1], fetch: send, port: { close }, file, loss };
  }
}

/** Fetches what the reader says of a file. If that fails, so do the rows. Rejects if `signal` aborts before. */
async function learn(
  send: Fetch,
  file: Partial<FileFacts>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const response = await send(TABLE, { signal: signal ?? null });
  if (response.ok) Object.assign(file, await response.json());
}

/** The reader of the page, which is started once. */
function readerOf({ worker = true, readerSrc }: WorkerOptions): Promise<Reader> {
  const kind = `${worker} ${readerSrc}`;
  const started = readers.get(kind) ?? startReader(worker, readerSrc);
  readers.set(kind, started);
  // The next file tries again.
  const forget = () => {
    if (readers.get(kind) === started) readers.delete(kind);
  };
  started.then(({ loss }) => loss?.addEventListener("abort", forget), forget);
  return started;
}

async function startReader(inWorker: boolean, readerSrc?: string | URL): Promise<Reader> {
  const href = readerSrc && new URL(readerSrc, globalThis.document?.baseURI).href;
  let reason = "";
  if (inWorker && globalThis.Worker !== undefined) {
    try {
      const worker = href === undefined ? besideUs() : workerAt(href, NAME);
      watchWorker(worker);
      const module = href === undefined ? compile() : Promise.resolve(undefined);
      void module.then((module) => worker.postMessage({ module } satisfies ReaderOrder));
      await readyOf(worker);
      return readerIn(worker);
    } catch (thrown) {
      reason = thrown instanceof Error ? thrown.message : String(thrown);
    }
  }
  try {
    const { serveFile }: ReaderModule =
      href === undefined
        ? await import("../reader.js")
        : await import(/* @vite-ignore */ /* webpackIgnore: true */ href);
    return { open: (order) => serveFile(order) };
  } catch (thrown) {
    reason ||= thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError(
      "reader_unavailable",
      `Could not start the reader of Parquet files: ${reason}`,
      {
        hint: "Serve reader.js and colonnade-reader.wasm beside the package's script, or name reader.js with readerSrc (reader-src); the page's policy must allow both.",
      },
    );
  }
}

/** The reader's module; undefined if the worker has to find it, or to say why it cannot. */
async function compile(): Promise<WebAssembly.Module | undefined> {
  try {
    // Bundlers recognise this expression, as they do in `reader/serve.ts`.
    const url = new URL(/* @vite-ignore */ "./colonnade-reader.wasm", import.meta.url);
    return await WebAssembly.compileStreaming(fetch(url));
  } catch {
    return undefined;
  }
}

function besideUs(): Worker {
  try {
    // Bundlers recognise this expression and emit the file; this package's own build leaves it alone.
    return new Worker(new URL(/* @vite-ignore */ "./reader.js", import.meta.url), {
      type: "module",
      name: "colonnade-reader",
    });
  } catch {
    // It has another origin than the page.
    return workerAt(import.meta.url.replace(/[^/]*$/, "reader.js"), NAME);
  }
}

/** The reader in a worker. */
function readerIn(worker: Worker): Reader {
  let numFiles = 0;
  const post = (order: ReaderOrder, transfer: Transferable[] = []) =>
    worker.postMessage(order, transfer);
  return {
    loss: lossOf(worker),
    open: (order, transfer) => {
      const id = numFiles++;
      post({ id, order }, transfer);
      return {
        serve: (ports) => post({ id, ports }, ports),
        useDecoder: (wasm) => post({ id, wasm }),
        close: () => post({ close: id }),
      };
    },
  };
}
