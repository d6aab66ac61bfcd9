import type { Table } from "../api/table.js";
import { type Computation, UNKNOWN } from "./status.js";

/** Tables that are complete sooner than this need no progress. */
const MIN_WAIT_MS = 1000;

/** Reports how far a table's rows have come, while they are computed. */
export async function followComputation(
  table: Table,
  signal: AbortSignal,
  show: (computation: Computation) => void,
): Promise<void> {
  show(UNKNOWN);
  await new Promise((resolve) => setTimeout(resolve, MIN_WAIT_MS));
  if (table.state !== "streaming") return;
  // If the module cannot be loaded, no progress is shown.
  const loading = import("./computation-record.js");
  await loading.then((late) => late.followRecord(table, signal, show)).catch(() => undefined);
}
