/** How many connections to an origin may be open at once. */
export interface ConnectionLimits {
  streams: number;
  /** Blocks and questions together. If there are several, one is kept for blocks. */
  others: number;
}

/**
 * Browsers give an origin six connections over HTTP/1.1. Four go to streams; the other two are for
 * short requests: row blocks, summaries, records, cancels.
 */
const LIMITS: ConnectionLimits = { streams: 4, others: 2 };
/** Over HTTP/2 and 3 all requests share one connection; servers commonly allow 100 at once. */
const MULTIPLEXED: ConnectionLimits = { streams: 32, others: 16 };
/** A hidden page continues one stream and leaves the other connections to other pages. */
const HIDDEN: ConnectionLimits = { streams: 1, others: 1 };
/** How long a page stays hidden before its limits are lowered. */
const HIDDEN_AFTER_MS = 5000;

const multiplexed = new Set<string>();
let isHidden = false;

/** How many connections this page may open to an origin now. */
export function limitsOf(origin: string): ConnectionLimits {
  // Outside browsers, connections are not limited.
  if (globalThis.location === undefined) return { streams: Infinity, others: Infinity };
  if (isMultiplexed(origin)) return MULTIPLEXED;
  return isHidden ? HIDDEN : LIMITS;
}

/**
 * Whether a response of this origin to the page came over HTTP/2 or later: the page itself, its files
 * or its requests. Workers' requests are not listed here, and other origins may hide the protocol; then
 * HTTP/1.1 is assumed.
 */
function isMultiplexed(origin: string): boolean {
  if (multiplexed.has(origin)) return true;
  const entries = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
  const isLater = (entry: PerformanceEntry) =>
    entry.name.startsWith(`${origin}/`) &&
    /^h[23]/.test((entry as PerformanceResourceTiming).nextHopProtocol);
  if (entries.some(isLater)) multiplexed.add(origin);
  return multiplexed.has(origin);
}

/** Calls `onChange` when the page becomes visible or has been hidden for a while. */
export function watchLimits(onChange: () => void): void {
  const { document } = globalThis;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const set = (hidden: boolean) => {
    isHidden = hidden;
    onChange();
  };
  const update = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => set(true), HIDDEN_AFTER_MS);
    else if (isHidden) set(false);
  };
  if (document === undefined) return;
  document.addEventListener("visibilitychange", update);
  update();
}
