import { ColonnadeError, type Predicate, type SortKey } from "colonnade";
import { type Address, PLAIN_STATE, type Subject, subjectAddress } from "../address/address.js";
import { fetchJson } from "../server/requests.js";
import { formatBytes, formatCount, formatDuration, formatRows } from "../text/format.js";
import { quoteNameIfNeeded } from "../text/quote.js";

/** A request, as the body of `POST /v1/query`. */
export interface QueryRequest {
  sql?: string;
  table?: string;
  /** The id of the result whose rows are requested. */
  query?: string;
  columns?: string[];
  /** A predicate, or an SQL expression. */
  filter?: Predicate | string;
  sort?: SortKey[];
  offset?: number;
  limit?: number;
}

/** The server's record of a running or stored result. */
export interface QueryRecord {
  id: string;
  /** Absent if the server does not send it. */
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

/** Reads the server's running and stored results, the latest first. */
export async function fetchQueries(signal: AbortSignal): Promise<QueryRecord[]> {
  const response = await fetchJson("/v1/query", undefined, signal);
  return ((await response.json()) as { queries: QueryRecord[] }).queries;
}

/** Cancels and deletes a result; one that no longer exists is no error. */
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

const STATE_LABELS = { running: "Running", done: "Done", failed: "Failed", cancelled: "Cancelled" };
const ORDER_LABELS = {
  total: "in a fixed order",
  partition: "in source order",
  none: "in no fixed order",
};

/** The label of its state. */
export function stateLabel({ state }: QueryRecord): string {
  return STATE_LABELS[state];
}

/** The shown details of a result, in order. */
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

/** The fraction of produced rows, from 0 to 1; undefined if the total is unknown. */
export function fractionOf({ rows, rows_ready: ready }: QueryRecord): number | undefined {
  return rows === null || rows === 0 ? undefined : Math.min(1, ready / rows);
}

/** The title of a result: its source and how that is arranged. */
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
  if (sort?.length) changes.push(`sorted by ${sort.map(sortText).join(", ")}`);
  if (offset !== undefined) changes.push(`from row ${formatCount(offset + 1)}`);
  if (limit !== undefined) changes.push(`at most ${formatRows(limit)}`);
  return changes;
}

function sortText({ column, descending }: SortKey): string {
  return descending ? `${column} ↓` : column;
}

/** The id of the latest result that the server has of a statement; undefined for none, or if that is not known. */
export async function storedResult(sql: string, signal: AbortSignal): Promise<string | undefined> {
  const records = await fetchQueries(signal).catch(() => []);
  const isOf = ({ request = {} }: QueryRecord) =>
    request.sql === sql && Object.keys(request).length === 1;
  return records.find((record) => isOf(record) && hasAllRows(record))?.id;
}

/** Whether the result's id gives all rows of the statement. */
export function hasAllRows({ state, request, first_row: firstRow }: QueryRecord): boolean {
  const isWhole = request?.offset === undefined && request?.limit === undefined;
  return isWhole && firstRow === 0 && (state === "done" || state === "running");
}

/** The address of the same rows; undefined if no address can express them. */
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
  // The arrangement of a base result would have to be applied too, so the base must have none.
  const isPlain = base !== undefined && Object.keys(base).length === 1;
  return isPlain ? subjectOf(base, all) : undefined;
}

/** A table's request as a statement; undefined if its filter is a predicate. */
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
