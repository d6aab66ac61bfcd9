import type { Arranger } from "./arranger.js";
import { conjunction, conjunctsOf, withConjuncts } from "./filters.js";

/** The most values that are listed. */
export const MAX_LISTED = 1000;
/** A server counts the values of more rows only if the user wants it. */
const MAX_SERVER_ROWS = 100_000_000;

/** The most frequent values of a column, and how many rows have them. */
export interface ValueCounts {
  /** The most frequent first; `value` is null for null. Undefined if there are too many different values. */
  values: readonly { value: string | null; count: number }[] | undefined;
  /** The number of different values, without null. */
  numDistinct: number;
  /** The number of counted rows, if more are expected; otherwise undefined. */
  numFirstRows: number | undefined;
}

/**
 * Counts the values of a column of texts or booleans, in the rows that pass the filters of the other columns.
 *
 * @param search only values that contain this text; empty for all
 */
export async function countValues(
  arranger: Arranger,
  column: string,
  search: string,
  signal: AbortSignal,
): Promise<ValueCounts> {
  const others = withConjuncts(arranger.arrangement.filter, column, []);
  const matches = { op: "matches", value: search, columns: [column] } as const;
  const filter = search === "" ? others : conjunction([...conjunctsOf(others), matches]);
  const { rows, isOpened, release } = await arranger.rowsFiltered(filter, signal);
  try {
    const { table, view } = rows;
    if (isOpened && table.state === "streaming") await table.done;
    const summary = await (view ?? table).summary(column, { top: MAX_LISTED, signal });
    const { top, nulls, distinct } = summary;
    const values = top?.filter(({ count }) => count > 0);
    const all = values && [...values, ...(nulls > 0 ? [{ value: null, count: nulls }] : [])];
    return {
      values: all?.sort((a, b) => b.count - a.count),
      numDistinct: distinct ?? 0,
      numFirstRows: view === undefined && table.state === "streaming" ? summary.rows : undefined,
    };
  } finally {
    release();
  }
}

/** Whether counting reads so much that the user has to ask for it. */
export function isCountingCostly({ shown }: Arranger): boolean {
  const table = shown?.table;
  if (table?.state !== "windowed") return false;
  return table.file !== undefined || (table.progress.totalRows ?? 0) > MAX_SERVER_ROWS;
}
