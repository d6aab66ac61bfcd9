import { ColonnadeError, type OpenOptions, open } from "colonnade";
import { queryRequest } from "../catalog/catalog.js";
import { session } from "./session.js";

/**
 * Runs a statement at the server and reads all of its answer: exact texts, row by row. Aborting
 * deletes it there. Where somebody has to sign in first, it is run once that is done.
 */
export async function readAnswer(
  sql: string,
  options: OpenOptions & { signal: AbortSignal },
): Promise<(string | null)[][]> {
  for (;;) {
    try {
      return await readOnce(sql, options);
    } catch (thrown) {
      if (ColonnadeError.from(thrown, "open_failed").code !== "unauthorized") throw thrown;
      await session.needed();
    }
  }
}

async function readOnce(sql: string, options: OpenOptions): Promise<(string | null)[][]> {
  const table = await open(queryRequest(sql), options);
  try {
    await table.done;
    return await table.text({ start: 0, end: table.numRows });
  } finally {
    table.close();
  }
}
