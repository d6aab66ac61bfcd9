import { type ColonnadeError, open } from "colonnade";

/** Answers are a few thousand rows; more would be a mistake of ours. */
const MEMORY_BYTES = 64 * 2 ** 20;
/** Of a browser's six connections to an origin the rows above all need some. */
const MAX_RUNNING = 2;

let running = 0;
const waiting: (() => void)[] = [];

/**
 * Runs a statement at the server and reads its small answer: exact texts, row by row. Aborting
 * deletes it there.
 */
export async function runSql(sql: string, signal: AbortSignal): Promise<(string | null)[][]> {
  await turn(signal);
  try {
    const request = new Request("/v1/query", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ sql }),
    });
    const table = await open(request, { signal, memoryBytes: MEMORY_BYTES });
    try {
      await table.done;
      return await table.text({ start: 0, end: table.numRows });
    } finally {
      table.close();
    }
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** Whether what was thrown only says that somebody stopped it. */
export function isCancelled(thrown: unknown): boolean {
  const { code, name } = (thrown ?? {}) as Partial<ColonnadeError>;
  return code === "cancelled" || (name as string) === "AbortError";
}

async function turn(signal: AbortSignal): Promise<void> {
  while (running >= MAX_RUNNING && !signal.aborted) {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
  signal.throwIfAborted();
  running++;
}
