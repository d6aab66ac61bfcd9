/**
 * Calls `wake` when the browser is online again, and when the page was frozen or hidden and no longer is, until
 * `signal` aborts.
 */
export function onWake(wake: () => void, signal: AbortSignal): void {
  const { document } = globalThis;
  const wakeIfVisible = () => {
    if (!document.hidden) wake();
  };
  globalThis.addEventListener?.("online", wake, { signal });
  document?.addEventListener("resume", wake, { signal });
  document?.addEventListener("visibilitychange", wakeIfVisible, { signal });
}
