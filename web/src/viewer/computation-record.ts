import type { Table } from "../api/table.js";
import { fetchQueryRecord, type QueryRecord } from "../http/query-record.js";
import { type Computation, formatBytes, UNKNOWN } from "./status.js";

/** How often the record of a result is fetched. */
const PERIOD_MS = 1000;
/** No time is foretold before so much is done, or sooner. */
const MIN_PART = 0.02;
const MIN_ELAPSED_MS = 2000;

/**
 * Fetches the server's record of a result while its rows are computed, and reports how far they have come. Returns early
 * if the server does not know that. At the end, nothing is shown.
 */
export async function followRecord(
  table: Table,
  signal: AbortSignal,
  show: (computation: Computation) => void,
): Promise<void> {
  const { request } = table;
  const query = request?.query;
  if (request === undefined || query === undefined) return;
  const isOpen = () =>
    !signal.aborted && table.state === "streaming" && table.progress.totalRows === undefined;
  while (isOpen()) {
    // While reading pauses, nothing changes.
    if (table.paused === undefined) {
      try {
        const record = await fetchQueryRecord(request, query, signal, table.fetch ?? fetch);
        if (record?.order && !isComputed(record)) return;
        if (record !== undefined && isOpen()) show(computationOf(record));
      } catch {
        // The stream reports the error itself.
      }
    }
    const period = new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
    await Promise.race([period, table.done]).catch(() => undefined);
  }
  if (!signal.aborted) show(UNKNOWN);
}

/** Whether a statement, or a remote engine, computes the rows. */
function isComputed({ progress, engine }: QueryRecord): boolean {
  return engine !== undefined || typeof progress?.bytes_read === "number";
}

/** What the record says of a computation. */
export function computationOf({ progress, elapsed_ms: elapsedMs = 0 }: QueryRecord): Computation {
  const { fraction: part, bytes_read: readBytes, bytes_total: totalBytes } = progress ?? {};
  // When all is read, how long the rest takes is not known.
  if (part == null || part === 1) {
    return { words: readBytes ? [`${formatBytes(readBytes)} read`] : [] };
  }
  const words = [`${Math.floor(100 * part)} %`];
  if (readBytes && totalBytes) words.push(`${pair(readBytes, totalBytes)} read`);
  const leftMs = (elapsedMs * (1 - part)) / part;
  if (part >= MIN_PART && elapsedMs >= MIN_ELAPSED_MS) words.push(timeLeft(leftMs));
  return { part, words };
}

/** `1.90 of 5.00 GB`: the unit once, if both have the same. */
function pair(bytes: number, ofBytes: number): string {
  const [one, all] = [formatBytes(bytes), formatBytes(ofBytes)];
  const [number, unit] = one.split(" ");
  return `${unit === all.split(" ")[1] ? number : one} of ${all}`;
}

function timeLeft(leftMs: number): string {
  const seconds = Math.ceil(leftMs / 1000);
  return seconds < 100 ? `${seconds} s left` : `${Math.round(seconds / 60)} min left`;
}
