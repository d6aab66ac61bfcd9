import { workerLost, workerUnavailable } from "../model/errors.js";
import type { IdleWorker } from "../rpc/messages.js";

/** How often a worker is asked for a sign of life where the browser has no Web Locks, as on pages over plain HTTP. */
const PING_MS = 5000;
/** It is lost after this many questions without an answer: time in which the page sleeps does not count. */
const MAX_UNANSWERED = 24;

/** A worker says that it is ready, and while it lives it holds the Web Lock of this name. */
export interface WorkerReady {
  lock: string | undefined;
}

/** How long a script may take until it runs, in seconds. */
const START_S = 60;

interface Life {
  ready: Promise<void>;
  loss: AbortSignal;
}

const lives = new WeakMap<Worker, Life>();

/** Aborts, with the error, when a watched worker does not start, or has ended although nobody ended it. */
export function lossOf(worker: Worker): AbortSignal | undefined {
  return lives.get(worker)?.loss;
}

/** Resolves when a watched worker runs. Rejects with `worker_unavailable` if it does not start. */
export function readyOf(worker: Worker): Promise<void> | undefined {
  return lives.get(worker)?.ready;
}

/**
 * Watches a worker that has just been made. One that is only busy, throttled, frozen or stopped by a debugger still
 * holds its lock.
 */
export function watchWorker(worker: Worker): void {
  const [loss, ended] = [new AbortController(), new AbortController()];
  const { signal } = ended;
  worker.addEventListener("ended", () => ended.abort());
  const ready = startOf(worker, signal).then(({ lock }) => {
    if (signal.aborted) return;
    if (lock === undefined) ping(worker, loss, signal);
    // Granted when the worker has ended.
    else navigator.locks.request(lock, { signal }, () => lose(loss)).catch(() => undefined);
  });
  lives.set(worker, { ready, loss: loss.signal });
  ready.catch((thrown) => {
    loss.abort(thrown);
    endWorker(worker);
  });
}

function lose(loss: AbortController): void {
  loss.abort(workerLost());
}

/** The message of a worker that it is ready. */
function startOf(worker: Worker, ended: AbortSignal): Promise<WorkerReady> {
  const starting = new Promise<WorkerReady>((resolve, reject) => {
    const onMessage = ({ data }: MessageEvent<WorkerReady | IdleWorker>) => {
      // A worker that was released while it started first says that it is idle.
      if (!("lock" in data)) return;
      worker.removeEventListener("message", onMessage);
      resolve(data);
    };
    worker.addEventListener("message", onMessage);
    const fail = (event: ErrorEvent) => {
      event.preventDefault();
      reject(new Error(event.message || "the browser gave no reason."));
    };
    worker.addEventListener("error", fail, { once: true });
  });
  return started(starting, ended);
}

/** Rejects with `worker_unavailable` if a script has not started within {@link START_S}. */
export async function started<T>(script: Promise<T>, ended?: AbortSignal): Promise<T> {
  let clock: ReturnType<typeof setInterval> | undefined;
  const late = new Promise<never>((_, reject) => {
    // Time in which the page sleeps does not count.
    let leftS = START_S;
    clock = setInterval(() => {
      if (leftS-- > 0) return;
      reject(new Error(`its script did not start within ${START_S} s.`));
    }, 1000);
  });
  const stop = () => clearInterval(clock);
  ended?.addEventListener("abort", stop);
  try {
    return await Promise.race([script, late]);
  } catch (thrown) {
    throw workerUnavailable(thrown);
  } finally {
    stop();
  }
}

function ping(worker: Worker, loss: AbortController, ended: AbortSignal): void {
  let numUnanswered = 0;
  const timer = setInterval(() => {
    if (numUnanswered++ < MAX_UNANSWERED) return worker.postMessage("ping");
    clearInterval(timer);
    lose(loss);
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
