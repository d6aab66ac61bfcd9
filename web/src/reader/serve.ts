import { serveFetch } from "../http/fetch-bridge.js";
import { ColonnadeError } from "../model/errors.js";
import type { FileOrder } from "../model/file-source.js";
import { serveTable } from "./file-server.js";
import { ParquetFile } from "./parquet-file.js";

/** One compiled module for all files. */
let compiling: Promise<WebAssembly.Module> | undefined;

/** Opens a file and serves its rows through the order's ports. The returned function ends that. */
export function serveFile({ file, ports }: FileOrder): () => void {
  const closed = new AbortController();
  compiling ??= compile();
  const opening = ParquetFile.open(file, compiling, closed.signal);
  // The error is the answer to the first request.
  opening.catch(() => undefined);
  const answer = serveTable(opening);
  for (const port of ports) {
    serveFetch(answer, port);
    // In Node, an open table does not keep the process running.
    (port as { unref?(): void }).unref?.();
  }
  return () => {
    closed.abort();
    for (const port of ports) port.close();
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
