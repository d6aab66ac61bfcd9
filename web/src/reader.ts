import type { FileOrder } from "./model/file-source.js";
import { serveFile } from "./reader/serve.js";

export { serveFile };

/** A file to open with its number, or the number of a file to close. */
export type ReaderOrder = { id: number; order: FileOrder } | { close: number };

// Only in a worker that `open` started, not in another page or worker that imports this file.
const scope = globalThis as unknown as Worker & { document?: unknown; name?: unknown };
if (scope.document === undefined && scope.name === "colonnade-reader") {
  const files = new Map<number, () => void>();
  scope.postMessage("ready");
  scope.addEventListener("message", ({ data }: MessageEvent<ReaderOrder>) => {
    if ("close" in data) {
      files.get(data.close)?.();
      files.delete(data.close);
    } else {
      files.set(data.id, serveFile(data.order));
    }
  });
}
