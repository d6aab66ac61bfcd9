import { QueryResult } from "../server/query-result.js";
import { type ChartField, chartFields, isCategorical } from "./fields.js";

/** The number of first rows that are summarised, so that the time does not depend on the table. */
const SAMPLE_ROWS = 50_000;
/** The number of first columns that are summarised. */
const MAX_COLUMNS = 8;
const MAX_GROUPS = 50;

/**
 * Finds a column to group rows by: the first text, boolean or integer column with 2 to 50 distinct values in the first
 * rows, some of them repeated. Undefined if there is none among the first columns, if the server cannot tell, or if
 * `signal` is aborted.
 */
export async function findGroupingColumn(
  rows: { table: string } | { sql: string },
  fields: readonly ChartField[],
  signal?: AbortSignal,
): Promise<string | undefined> {
  const candidates = chartFields(fields).filter(isCategorical).slice(0, MAX_COLUMNS);
  if (candidates.length === 0) return undefined;
  // Only a table's columns can be chosen.
  const columns = "table" in rows ? candidates.map(({ name }) => name) : undefined;
  const result = new QueryResult({ ...rows, columns, limit: SAMPLE_ROWS });
  signal?.addEventListener("abort", () => result.close());
  try {
    for (const { name } of candidates) {
      const { distinct, rows: numRows, nulls } = await result.summary(name);
      const isGrouping = distinct !== null && distinct >= 2 && distinct <= MAX_GROUPS;
      if (isGrouping && distinct < numRows - nulls) return name;
    }
  } catch {
    // Without a column, charts and examples are chosen by the types of the columns.
  } finally {
    result.close();
  }
  return undefined;
}
