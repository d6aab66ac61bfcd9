import type { Table } from "../api/table.js";
import { fetchQueryRecord } from "../http/query-record.js";

/** How often the progress of a remote engine is fetched. */
const PERIOD_MS = 1000;

/**
 * Fetches the progress of a remote engine while rows arrive, and reports the fraction of its tasks that
 * is done, from 0 to 1. Returns early if the server computes the rows itself.
 */
export async function followEngine(
  table: Table,
  signal: AbortSignal,
  report: (fraction: number) => void,
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
        if (record?.order && record.engine === undefined) return;
        const { tasks = 0, tasks_done: done = 0 } = record?.engine ?? {};
        if (tasks > 0 && isOpen()) report(Math.min(1, done / tasks));
      } catch {
        // The stream reports the error itself.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
  }
}
