import { readRows } from "../server/read-rows.js";
import { Semaphore } from "../server/semaphore.js";

/** A chart needs a few thousand rows; more would be a bug of the chart. */
const MEMORY_BYTES = 64 * 2 ** 20;
/** The viewer's rows need most of the six connections that a browser opens to an origin. */
const MAX_RUNNING = 2;

const semaphore = new Semaphore(MAX_RUNNING);

/** Runs a statement at the server once fewer than two others run, and reads its few rows. */
export function runSql(sql: string, signal: AbortSignal): Promise<(string | null)[][]> {
  return semaphore.run(() => readRows(sql, { signal, memoryBytes: MEMORY_BYTES }), signal);
}
