import { beginLife } from "./api/worker-life.js";
import type { FileOrder } from "./model/file-source.js";
import { type ServedFile, serveFile } from "./reader/serve.js";
import type { WasmModule } from "./rpc/messages.js";

export { serveFile };

/**
 * The reader's module, or that the page could not compile it; a file to open with its number; what an open file needs;
 * the number of a file to close; or a question for a sign of life.
 */
export type ReaderOrder =
  | { module: WebAssembly.Module | undefined }
  | { id: number; order: FileOrder }
  | { id: number; ports: MessagePort[] }
  | { id: number; wasm: WasmModule | string | undefined }
  | { close: number }
  | "ping";

// Only in a worker that `open` started, not in another page or worker that imports this file.
const scope = globalThis as unknown as Worker & { document?: unknown; name?: unknown };
if (scope.document === undefined && scope.name === "colonnade-reader") {
  const files = new Map<number, ServedFile>();
  let useModule: (module: WebAssembly.Module | undefined) => void = () => undefined;
  const compiled = new Promise<WebAssembly.Module | undefined>((resolve) => {
    useModule = resolve;
  });
  scope.addEventListener("message", ({ data }: MessageEvent<ReaderOrder>) => {
    if (data === "ping") {
      scope.postMessage("alive");
    } else if ("module" in data) {
      useModule(data.module);
    } else if ("close" in data) {
      files.get(data.close)?.close();
      files.delete(data.close);
    } else if ("ports" in data) {
      files.get(data.id)?.serve(data.ports);
    } else if ("wasm" in data) {
      files.get(data.id)?.useDecoder(data.wasm);
    } else {
      files.set(data.id, serveFile(data.order, compiled));
    }
  });
  beginLife(scope);
}
