import { ColonnadeError, type OpenOptions, open } from "colonnade";
import { queryRequest } from "./requests.js";
import { session } from "./session.js";

/**
 * Runs a statement at the server and reads all of its rows as exact texts, row by row. Aborting
 * deletes the result at the server. If a sign-in is needed, the statement runs after it.
 */
export async function readRows(
  sql: string,
  options: OpenOptions & { signal: AbortSignal },
): Promise<(string | null)[][]> {
  for (;;) {
    try {
      return await readRowsOnce(sql, options);
    } catch (thrown) {
      if (ColonnadeError.from(thrown, "open_failed").code !== "unauthorized") throw thrown;
      await session.waitForSignIn();
    }
  }
}

/** As {@link readRows}, without waiting for a sign-in. */
export async function readRowsOnce(
  sql: string,
  options: OpenOptions = {},
): Promise<(string | null)[][]> {
  const table = await open(queryRequest(sql), options);
  try {
    await table.done;
    return await table.text({ start: 0, end: table.numRows });
  } finally {
    table.close();
  }
}
