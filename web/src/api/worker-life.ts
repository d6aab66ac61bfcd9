/** How often a worker is asked for a sign of life where the browser has no Web Locks, as on pages over plain HTTP. */
const PING_MS = 5000;
/** It is lost after this many questions without an answer: time in which the page sleeps does not count. */
const MAX_UNANSWERED = 24;

/** A worker's first message: it is ready, and while it lives it holds the Web Lock of this name. */
export interface WorkerReady {
  lock: string | undefined;
}

const losses = new WeakMap<Worker, AbortSignal>();

/** Aborts when a watched worker has ended although nobody ended it. */
export function lossOf(worker: Worker): AbortSignal | undefined {
  return losses.get(worker);
}

/**
 * Watches a worker that is ready. One that is only busy, throttled, frozen or stopped by a debugger still holds its
 * lock.
 */
export function watchWorker(worker: Worker, { lock }: WorkerReady): void {
  const [loss, ended] = [new AbortController(), new AbortController()];
  losses.set(worker, loss.signal);
  worker.addEventListener("ended", () => ended.abort());
  const { signal } = ended;
  if (lock === undefined) ping(worker, loss, signal);
  // Granted when the worker has ended.
  else navigator.locks.request(lock, { signal }, () => loss.abort()).catch(() => undefined);
}

function ping(worker: Worker, loss: AbortController, ended: AbortSignal): void {
  let numUnanswered = 0;
  const timer = setInterval(() => {
    if (numUnanswered++ < MAX_UNANSWERED) return worker.postMessage("ping");
    clearInterval(timer);
    loss.abort();
  }, PING_MS);
  worker.addEventListener("message", () => {
    numUnanswered = 0;
  });
  ended.addEventListener("abort", () => clearInterval(timer));
}

/** Ends a worker that is no longer needed. */
export function endWorker(worker: Worker): void {
  worker.terminate();
  worker.dispatchEvent(new Event("ended"));
}

/** In a worker: says that it is ready, and holds a lock while it lives. */
export function beginLife(scope: Worker): void {
  const lock = `colonnade-${Math.random()}`;
  const say = (ready: WorkerReady) => scope.postMessage(ready);
  const hold = () => {
    say({ lock });
    return new Promise<never>(() => undefined);
  };
  const { locks } = globalThis.navigator ?? {};
  // A page without a storage of its own has locks, but may not use them.
  if (locks === undefined) say({ lock: undefined });
  else locks.request(lock, hold).catch(() => say({ lock: undefined }));
}
