import type { WorkerOrder } from "./rpc/messages.js";
import { serve } from "./worker/serve.js";

export { serve };

// In a worker that `open` started; not in a page or worker of another's that imports this file.
const scope = globalThis as unknown as Worker & { document?: unknown; name?: unknown };
if (scope.document === undefined && scope.name === "colonnade") {
  let stop = () => {};
  scope.addEventListener("message", ({ data }: MessageEvent<WorkerOrder>) => {
    stop();
    stop = data === "idle" ? () => {} : serve(data);
  });
  scope.postMessage("ready");
}
