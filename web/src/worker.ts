import { beginLife } from "./api/worker-life.js";
import type { IdleWorker, WorkerOrder } from "./rpc/messages.js";
import { moduleBytes } from "./worker/decoder-module.js";
import { serve } from "./worker/serve.js";

export { serve };

// Only in a worker that `open` started, not in another page or worker that imports this file.
const scope = globalThis as unknown as Worker & { document?: unknown; name?: unknown };
if (scope.document === undefined && scope.name === "colonnade") {
  let stop = () => {};
  scope.addEventListener("message", ({ data }: MessageEvent<WorkerOrder>) => {
    if (data === "ping") return scope.postMessage("alive");
    stop();
    stop = data === "idle" ? () => {} : serve(data);
    if (data === "idle") scope.postMessage({ idleBytes: moduleBytes() } satisfies IdleWorker);
  });
  beginLife(scope);
}
