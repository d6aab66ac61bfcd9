import type { WorkerNews, WorkerOrder } from "./rpc/messages.js";
import { serve } from "./worker/serve.js";

export { serve };

// Only in a worker that `open` started, not in another page or worker that imports this file.
const scope = globalThis as unknown as Worker & { document?: unknown; name?: unknown };
if (scope.document === undefined && scope.name === "colonnade") {
  let stop = () => {};
  scope.addEventListener("message", ({ data }: MessageEvent<WorkerOrder>) => {
    stop();
    stop = data === "idle" ? () => {} : serve(data);
  });
  scope.postMessage("ready" satisfies WorkerNews);
  // Pages without TLS have no locks; then a worker that the browser ends is not noticed.
  const lock = `colonnade ${Math.random()}`;
  navigator.locks
    ?.request(lock, () => {
      scope.postMessage({ lock } satisfies WorkerNews);
      return new Promise(() => undefined);
    })
    .catch(() => undefined);
}
