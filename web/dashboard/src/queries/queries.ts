import { ColonnadeError, type Predicate, type SortKey } from "colonnade";
import { type Address, PLAIN_STATE, type Subject, subjectAddress } from "../address/address.js";
import { fetchJson } from "../server/requests.js";
import { formatBytes, formatCount, formatDuration, formatRows } from "../text/format.js";
import { quoteNameIfNeeded } from "../text/quote.js";

/** What was asked for, as `POST /v1/query` takes it. */
export interface QueryRequest {
  sql?: string;
  table?: string;
  /** The id of the result that rows are taken of. */
  query?: string;
  columns?: string[];
  /** A predicate, or SQL's text. */
  filter?: Predicate | string;
  sort?: SortKey[];
  offset?: number;
  limit?: number;
}

/** A running or kept result, as the server tells of it. */
export interface QueryRecord {
  id: string;
  /** Absent from servers that do not tell. */
  request?: QueryRequest;
  state: "running" | "done" | "failed" | "cancelled";
  order: "total" | "partition" | "none" | null;
  /** The first row that can be read. */
  first_row: number;
  /** The row after the last one; null until it is known. */
  rows: number | null;
  /** The row after the last one that was produced. */
  rows_ready: number;
  bytes_sent: number;
  elapsed_ms: number;
  memory_bytes?: number;
  disk_bytes?: number;
  error: { code: string; message: string; hint: string } | null;
}

/** The server's running and kept results, the latest first. */
export async function fetchQueries(signal: AbortSignal): Promise<QueryRecord[]> {
  const response = await fetchJson("/v1/query", undefined, signal);
  return ((await response.json()) as { queries: QueryRecord[] }).queries;
}

/** Cancels a result at once and forgets it; one that is gone already is fine. */
export async function deleteQuery(id: string): Promise<void> {
  let response: Response;
  try {
    response = await fetch(`/v1/query/${id}`, { method: "DELETE" });
  } catch {
    throw new ColonnadeError("network_error", "Could not reach the server; nothing was cancelled.");
  }
  if (response.ok || response.status === 404) return;
  throw new ColonnadeError(
    "http_error",
    `The server answered ${response.status}; nothing was cancelled.`,
  );
}

const STATE_LABELS = { running: "Running", done: "Done", failed: "Failed", cancelled: "Stopped" };
const ORDER_LABELS = {
  total: "in a fixed order",
  partition: "in the order of the source",
  none: "in no fixed order",
};

/** Its state in a word. */
export function stateLabel({ state }: QueryRecord): string {
  return STATE_LABELS[state];
}

/** The facts of a result, in the order in which they are shown. */
export function queryDetails(record: QueryRecord): string[] {
  const { rows, rows_ready: ready, bytes_sent: sentBytes, order } = record;
  const { memory_bytes: memoryBytes = 0, disk_bytes: diskBytes = 0 } = record;
  const facts = [
    rows !== null && rows !== ready && record.state !== "done"
      ? `${formatCount(ready)} of ${formatRows(rows)}`
      : formatRows(rows ?? ready),
    `${formatBytes(sentBytes)} sent`,
  ];
  if (order !== null) facts.push(ORDER_LABELS[order]);
  if (memoryBytes > 0) facts.push(`${formatBytes(memoryBytes)} in memory`);
  if (diskBytes > 0) facts.push(`${formatBytes(diskBytes)} on disk`);
  facts.push(formatDuration(record.elapsed_ms));
  return facts;
}

/** The part that is produced, from 0 to 1; undefined where the total is not known. */
export function fractionOf({ rows, rows_ready: ready }: QueryRecord): number | undefined {
  return rows === null || rows === 0 ? undefined : Math.min(1, ready / rows);
}

/** What a result is of, and what was made of it, in words. */
export function queryTitle(record: QueryRecord, all: readonly QueryRecord[]): string {
  const { request } = record;
  if (request === undefined) return `Result ${record.id.slice(0, 8)}`;
  if (request.sql !== undefined) return request.sql.trim();
  const base = all.find(({ id }) => id === request.query);
  const name =
    request.table ?? (base ? queryTitle(base, all) : `result ${request.query?.slice(0, 8)}`);
  return [name, ...changesOf(request)].join(" · ");
}

function changesOf({ columns, filter, sort, offset, limit }: QueryRequest): string[] {
  const changes: string[] = [];
  if (columns) changes.push(`${columns.length} ${columns.length === 1 ? "column" : "columns"}`);
  if (filter !== undefined) changes.push("filtered");
  if (sort?.length) changes.push(`by ${sort.map(sortText).join(", ")}`);
  if (offset !== undefined) changes.push(`from row ${formatCount(offset + 1)}`);
  if (limit !== undefined) changes.push(`at most ${formatRows(limit)}`);
  return changes;
}

function sortText({ column, descending }: SortKey): string {
  return descending ? `${column} ↓` : column;
}

/** Whether all of a statement's rows can be had by the result's id. */
export function hasAllRows({ state, request, first_row: firstRow }: QueryRecord): boolean {
  const isWhole = request?.offset === undefined && request?.limit === undefined;
  return isWhole && firstRow === 0 && (state === "done" || state === "running");
}

/** Where the same rows are looked at; undefined where no address of this page says that. */
export function queryAddress(
  { request }: QueryRecord,
  all: readonly QueryRecord[],
): Address | undefined {
  if (request === undefined) return undefined;
  const { filter, sort = [], columns, offset, limit } = request;
  if (typeof filter === "string" || offset !== undefined || limit !== undefined) {
    const sql = statementOf(request);
    return sql === undefined ? undefined : subjectAddress({ sql });
  }
  const subject = subjectOf(request, all);
  if (subject === undefined) return undefined;
  const state = {
    ...PLAIN_STATE,
    sort,
    filter: filter ?? null,
    columns: { ...PLAIN_STATE.columns, shown: columns },
  };
  return { ...subjectAddress(subject), state };
}

function subjectOf({ sql, table, query }: QueryRequest, all: readonly QueryRecord[]): Subject {
  if (sql !== undefined) return { sql };
  if (table !== undefined) return { table };
  const base = all.find(({ id }) => id === query)?.request;
  // What a result was made of in turn would have to be applied as well.
  const isPlain = base !== undefined && Object.keys(base).length === 1;
  return isPlain ? subjectOf(base, all) : undefined;
}

/** A table's request as a statement, where its filter is text. */
function statementOf({
  table,
  columns,
  filter,
  sort,
  offset,
  limit,
}: QueryRequest): string | undefined {
  if (table === undefined || (filter !== undefined && typeof filter !== "string")) return undefined;
  const keys = sort?.map(
    ({ column, descending }) =>
      `${quoteNameIfNeeded(column)}${descending ? " DESC" : ""} NULLS LAST`,
  );
  return [
    `SELECT ${columns?.map(quoteNameIfNeeded).join(", ") ?? "*"} FROM ${quoteNameIfNeeded(table)}`,
    filter === undefined ? "" : `WHERE ${filter}`,
    keys?.length ? `ORDER BY ${keys.join(", ")}` : "",
    limit === undefined ? "" : `LIMIT ${limit}`,
    offset === undefined ? "" : `OFFSET ${offset}`,
  ]
    .filter(Boolean)
    .join(" ");
}
