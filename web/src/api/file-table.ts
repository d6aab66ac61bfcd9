import { fetchThrough, serveFetch } from "../http/fetch-bridge.js";
import { fetchQueryJson } from "../http/query-record.js";
import { claimQuery } from "../http/query-request.js";
import { ColonnadeError } from "../model/errors.js";
import type { FileFacts, FileOrder, FileSource } from "../model/file-source.js";
import { type PreparedSource, type RequestOptions, type TableSource, urlOf } from "./source.js";
import { type WorkerOptions, workerAt } from "./start-worker.js";

/** Where the reader answers. Nothing is ever sent there. */
const INNER = "http://reader.localhost";

/** The name by which the worker knows itself. */
const NAME = "colonnade-reader";

/** A remote file above this size shows its rows on demand; a smaller one is read whole. */
const ON_DEMAND_BYTES = 32 * 1024 * 1024;

/** What `reader.js` exports. */
interface ReaderModule {
  serveFile(order: FileOrder): () => void;
}

/** The reader of this page's files. */
interface Reader {
  /** Opens a file; the returned function closes it. */
  open(order: FileOrder, transfer: Transferable[]): () => void;
}

const readers = new Map<string, Promise<Reader>>();

type FileOptions = RequestOptions &
  WorkerOptions & { signal?: AbortSignal | undefined; loadAll?: boolean | undefined };

/** A local or remote Parquet file as a source that a worker reads like a server's table. */
export async function prepareFile(
  source: TableSource,
  options: FileOptions,
  memoryBytes: number,
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
  const [ours, workers] = [new MessageChannel(), new MessageChannel()];
  const ports = [ours.port2, workers.port2];
  const end = reader.open({ file, ports }, [...transfer, ...ports]);
  const close = () => {
    end();
    ours.port1.close();
  };
  signal?.addEventListener("abort", close);
  try {
    const send = fetchThrough(ours.port1);
    const wire = claimQuery({
      kind: "url",
      url: `${INNER}/v1/tables/file/rows`,
      method: "GET",
      headers: [],
      body: null,
      credentials: "omit",
    });
    wire.fetch = workers.port1;
    const { query } = wire;
    if (query === undefined) throw new Error("the reader's address is not a server's");
    const either = signal ?? new AbortController().signal;
    const facts: FileFacts = JSON.parse(await fetchQueryJson(wire, query, "", either, send));
    facts.isOnDemand = file.kind === "remote" && facts.bytes > ON_DEMAND_BYTES && !loadAll;
    if (facts.isOnDemand) query.onDemandBytes = memoryBytes;
    return { wire, transfer: [workers.port1], fetch: send, port: { close }, file: facts };
  } catch (thrown) {
    close();
    throw thrown;
  }
}

/** The reader of the page, which is started once. */
function readerOf({ worker = true, readerSrc }: WorkerOptions): Promise<Reader> {
  const kind = `${worker} ${readerSrc}`;
  const started = readers.get(kind) ?? startReader(worker, readerSrc);
  readers.set(kind, started);
  // The next file tries again.
  started.catch(() => readers.delete(kind));
  return started;
}

async function startReader(inWorker: boolean, readerSrc?: string | URL): Promise<Reader> {
  const href = readerSrc && new URL(readerSrc, globalThis.document?.baseURI).href;
  let reason = "";
  if (inWorker && globalThis.Worker !== undefined) {
    try {
      return await inOwnWorker(href === undefined ? besideUs() : workerAt(href, NAME));
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

/** Resolves once the worker's script runs. */
function inOwnWorker(worker: Worker): Promise<Reader> {
  let numFiles = 0;
  const open: Reader["open"] = (order, transfer) => {
    const id = numFiles++;
    worker.postMessage({ id, order }, transfer);
    return () => worker.postMessage({ close: id });
  };
  return new Promise((resolve, reject) => {
    worker.addEventListener("message", () => resolve({ open }), { once: true });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      worker.terminate();
      reject(new Error(event.message || "the browser gave no reason."));
    });
  });
}
