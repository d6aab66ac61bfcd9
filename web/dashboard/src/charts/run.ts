import { type ColonnadeError, open } from "colonnade";
import { queryRequest } from "../catalog/catalog.js";
import { Turns } from "../details/turns.js";

/** Answers are a few thousand rows; more would be a mistake of ours. */
const MEMORY_BYTES = 64 * 2 ** 20;
/** Of a browser's six connections to an origin the rows above all need some. */
const MAX_RUNNING = 2;

const turns = new Turns(MAX_RUNNING);

/**
 * Runs a statement at the server and reads its small answer: exact texts, row by row. Aborting
 * deletes it there.
 */
export function runSql(sql: string, signal: AbortSignal): Promise<(string | null)[][]> {
  return turns.take(async () => {
    const table = await open(queryRequest(sql), { signal, memoryBytes: MEMORY_BYTES });
    try {
      await table.done;
      return await table.text({ start: 0, end: table.numRows });
    } finally {
      table.close();
    }
  }, signal);
}

/** Whether what was thrown only says that somebody stopped it. */
export function isCancelled(thrown: unknown): boolean {
  const { code, name } = (thrown ?? {}) as Partial<ColonnadeError>;
  return code === "cancelled" || (name as string) === "AbortError";
}
