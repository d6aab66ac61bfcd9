import { type PlaceLimits, Places } from "./connection-pool.js";

/**
 * Browsers give an origin six connections over HTTP/1.1. Four go to streams; the other two are for
 * what is short: blocks of rows, summaries, records, cancels.
 */
const LIMITS: PlaceLimits = { streams: 4, others: 2 };
/** Over HTTP/2 and 3 all requests share one connection; servers commonly allow 100 at once. */
const MULTIPLEXED: PlaceLimits = { streams: 32, others: 16 };
/** A page out of sight goes on with one stream and leaves the connections to the others. */
const HIDDEN: PlaceLimits = { streams: 1, others: 1 };
/** What is not looked at for so long makes room. */
const HIDDEN_AFTER_MS = 5000;

const byOrigin = new Map<string, Places>();
const multiplexed = new Set<string>();
let isHidden = false;

/** The connections of this page to the origin of an address. */
export function placesOf(url: string): Places {
  if (byOrigin.size === 0) watchVisibility();
  const { origin } = new URL(url);
  const places = byOrigin.get(origin) ?? new Places(() => limitsOf(origin));
  byOrigin.set(origin, places);
  return places;
}

function limitsOf(origin: string): PlaceLimits {
  // Outside of browsers nothing limits connections.
  if (globalThis.location === undefined) return { streams: Infinity, others: Infinity };
  if (isMultiplexed(origin)) return MULTIPLEXED;
  return isHidden ? HIDDEN : LIMITS;
}

/**
 * Whether something came from there over HTTP/2 or later: this page, a file of it, any request of its
 * own. Workers' requests are not listed here, and other origins may conceal it; then it is HTTP/1.1.
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

function watchVisibility(): void {
  const { document } = globalThis;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const set = (hidden: boolean) => {
    isHidden = hidden;
    for (const places of byOrigin.values()) places.pump();
  };
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => set(true), HIDDEN_AFTER_MS);
    else if (isHidden) set(false);
  };
  if (document === undefined) return;
  document.addEventListener("visibilitychange", look);
  look();
}
