import type { ColonnadeError } from "colonnade";
import { readAnswer } from "../server/read-rows.js";
import { Turns } from "../server/semaphore.js";

/** Answers are a few thousand rows; more would be a mistake of ours. */
const MEMORY_BYTES = 64 * 2 ** 20;
/** Of a browser's six connections to an origin the rows above all need some. */
const MAX_RUNNING = 2;

const turns = new Turns(MAX_RUNNING);

/** Runs a statement at the server when it is its turn, and reads its small answer. */
export function runSql(sql: string, signal: AbortSignal): Promise<(string | null)[][]> {
  return turns.take(() => readAnswer(sql, { signal, memoryBytes: MEMORY_BYTES }), signal);
}

/** Whether what was thrown only says that somebody stopped it. */
export function isCancelled(thrown: unknown): boolean {
  const { code, name } = (thrown ?? {}) as Partial<ColonnadeError>;
  return code === "cancelled" || (name as string) === "AbortError";
}
