import type { Table } from "../api/table.js";
import { fetchQueryRecord } from "../http/query-record.js";

/** How often the server is asked how far an engine elsewhere is. */
const PERIOD_MS = 1000;

/**
 * Asks while rows arrive how far the engine is that computes them, unless the server answers for them itself;
 * tells the part of its tasks that is done, from 0 to 1.
 */
export async function followEngine(
  table: Table,
  signal: AbortSignal,
  tell: (part: number) => void,
): Promise<void> {
  const { request } = table;
  const query = request?.query;
  if (request === undefined || query === undefined) return;
  const isOpen = () =>
    !signal.aborted && table.state === "streaming" && table.progress.totalRows === undefined;
  while (isOpen()) {
    try {
      const record = await fetchQueryRecord(request, query, signal, table.fetch ?? fetch);
      if (record?.order && record.engine === undefined) return;
      const { tasks = 0, tasks_done: done = 0 } = record?.engine ?? {};
      if (tasks > 0 && isOpen()) tell(Math.min(1, done / tasks));
    } catch {
      // The stream itself says what is wrong.
    }
    await new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
  }
}
