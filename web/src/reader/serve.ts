import { serveFetch } from "../http/serve-ports.js";
import { ColonnadeError } from "../model/errors.js";
import type { FileOrder } from "../model/file-source.js";
import type { WasmModule } from "../rpc/messages.js";
import type { DecoderModule } from "./computations.js";
import { FileServer } from "./file-server.js";
import { ParquetFile } from "./parquet-file.js";
import { serveRows } from "./serve-rows.js";

/** A file that is open. */
export interface ServedFile {
  /** Answers the requests of a table and its page, which come through these ports. */
  serve(ports: MessagePort[]): void;
  /** The decoder's module or its address, if not beside the reader; computations wait for it. */
  useDecoder(wasm: WasmModule | string | undefined): void;
  close(): void;
}

/** One compiled module for all files. */
let compiling: Promise<WebAssembly.Module> | undefined;

/**
 * Opens a file.
 *
 * @param compiled the reader's module, if the page compiles it; default is the one beside this script
 */
export function serveFile(
  order: FileOrder,
  compiled?: Promise<WebAssembly.Module | undefined>,
): ServedFile {
  const closed = new AbortController();
  compiling ??= (compiled ?? Promise.resolve(undefined)).then((module) => module ?? compile());
  const opening = ParquetFile.open(order.file, compiling, closed.signal);
  // The error is the answer to each request.
  opening.catch(() => undefined);
  let useDecoder: ServedFile["useDecoder"] = () => undefined;
  const decoder: DecoderModule = new Promise((resolve) => {
    useDecoder = resolve;
  });
  const server = new FileServer(opening, order, decoder, closed.signal);
  const open: MessagePort[] = [];
  return {
    serve: (ports) => {
      for (const port of ports) {
        serveFetch(server.answer, port, serveRows);
        // In Node, an open table does not keep the process running.
        (port as { unref?(): void }).unref?.();
        open.push(port);
      }
    },
    useDecoder,
    close: () => {
      closed.abort();
      for (const port of open) port.close();
    },
  };
}

async function compile(): Promise<WebAssembly.Module> {
  try {
    // Bundlers recognise this expression and emit the file; this package's own build leaves it alone.
    const url = new URL(/* @vite-ignore */ "./colonnade-reader.wasm", import.meta.url);
    // Node's `fetch` does not read files.
    const fs = url.protocol === "file:" && globalThis.process?.getBuiltinModule?.("fs");
    if (!fs) return await WebAssembly.compileStreaming(fetch(url));
    return await WebAssembly.compile(new Uint8Array(await fs.promises.readFile(url)));
  } catch (thrown) {
    compiling = undefined;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError(
      "wasm_unavailable",
      `Could not load the reader of Parquet files: ${reason}`,
      {
        hint: "Serve colonnade-reader.wasm beside reader.js, or name reader.js with reader-src; the page's policy must allow 'wasm-unsafe-eval'.",
      },
    );
  }
}
