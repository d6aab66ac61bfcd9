import type { Predicate, SortKey } from "colonnade";
import { formatList, parseList } from "../text/quote.js";
import { joinTypes, splitTypes } from "./read-as.js";

/**
 * What the page shows: a table (its name may say how columns are read, see `splitTypes`), the rows of a statement (an empty one has not been run), or a file
 * that is open in this tab.
 */
export type Subject = { table: string } | { sql: string } | { file: string } | undefined;

/** The shown view of the subject. */
export type View = "rows" | "details" | "plan";

/** How the rows are shown, in the format of the viewer's `state`. */
export interface RowsState {
  sort: readonly SortKey[];
  filter: Predicate | null;
  columns: {
    /** Undefined for all columns in the table's order. */
    shown?: readonly string[] | undefined;
    pinned: readonly string[];
    widthsPx: Readonly<Record<string, number>>;
  };
  /** The first visible row, counted from 0. */
  row: number;
}

/** The page's state, as its address stores it. */
export interface Address {
  subject: Subject;
  view: View;
  state: RowsState;
  /** The chart panel's encoded state; undefined for no charts. */
  chart: string | undefined;
}

/** All rows and columns in their own order, from the first row. */
export const PLAIN_STATE: RowsState = {
  sort: [],
  filter: null,
  columns: { shown: undefined, pinned: [], widthsPx: {} },
  row: 0,
};

/** The address of a subject in its initial state. */
export function subjectAddress(subject: Subject, view: View = "rows"): Address {
  return { subject, view, state: PLAIN_STATE, chart: undefined };
}

/** Parses the address from a URL's query string; ignores invalid parameters. */
export function parseAddress(search: string): Address {
  const params = new URLSearchParams(search);
  const table = params.get("table");
  const sql = params.get("sql");
  const file = params.get("file");
  const subject = table
    ? { table: joinTypes(table, params.get("types") ?? "") }
    : sql !== null
      ? { sql }
      : file
        ? { file }
        : undefined;
  const shown = parseList(params.get("columns") ?? "");
  return {
    subject,
    view: viewIn(params, subject),
    state: {
      sort: sortIn(params),
      filter: filterIn(params),
      columns: {
        shown: shown.length === 0 ? undefined : shown,
        pinned: parseList(params.get("pinned") ?? ""),
        widthsPx: widthsIn(params),
      },
      row: /^\d{1,15}$/.test(params.get("row") ?? "") ? Number(params.get("row")) : 0,
    },
    chart: params.get("chart") ?? undefined,
  };
}

/** Formats an address as a URL, without the parameters that have their initial values. */
export function formatAddress({ subject, view, state, chart }: Address): string {
  if (subject === undefined) return "/";
  const { sort, filter, columns, row } = state;
  const params: Record<string, string> = { ...subject };
  if (params.table !== undefined) {
    const [table, types] = splitTypes(params.table);
    params.table = table;
    if (types !== "") params.types = types;
  }
  if (view !== "rows") params.view = view;
  if (columns.shown !== undefined) params.columns = formatList(columns.shown);
  if (columns.pinned.length > 0) params.pinned = formatList(columns.pinned);
  const widths = Object.entries(columns.widthsPx).map(([name, px]) => `${px} ${name}`);
  if (widths.length > 0) params.widths = formatList(widths);
  if (sort.length > 0) params.sort = formatList(sort.map(sortItem));
  if (filter !== null) params.filter = JSON.stringify(filter);
  if (row > 0) params.row = String(row);
  if (chart !== undefined) params.chart = chart;
  return `/?${Object.entries(params)
    .map(([name, value]) => `${name}=${encoded(value)}`)
    .join("&")}`;
}

/** A viewer's state as an address stores it: `shown` is undefined if it is all columns in order. */
export function rowsStateOf(
  { sort, filter, columns, row }: RowsState,
  fieldNames: readonly string[],
): RowsState {
  const { shown, pinned, widthsPx } = columns;
  const isAll =
    shown?.length === fieldNames.length && shown.every((name, i) => name === fieldNames[i]);
  return {
    sort: sort.map(({ column, descending }) => ({ column, descending: descending === true })),
    filter: filter && (JSON.parse(JSON.stringify(filter, jsonNumber)) as Predicate),
    columns: { shown: isAll ? undefined : shown, pinned, widthsPx },
    row,
  };
}

/** Whether two states ask for the same rows in the same order. */
export function isSameArrangement(one: RowsState, other: RowsState): boolean {
  return JSON.stringify([one.sort, one.filter]) === JSON.stringify([other.sort, other.filter]);
}

/** Converts numbers that JSON cannot represent to texts, which predicates accept. */
function jsonNumber(_key: string, value: unknown): unknown {
  const isUnrepresentable = typeof value === "number" && !Number.isFinite(value);
  if (Object.is(value, -0)) return "-0";
  return isUnrepresentable || typeof value === "bigint" ? String(value) : value;
}

/** Whether a state shows all rows and columns in their own order, from any row on. */
export function isPlainView(state: RowsState): boolean {
  return JSON.stringify({ ...state, row: 0 }) === JSON.stringify(PLAIN_STATE);
}

/** Whether two subjects are the same. */
export function isSameSubject(one: Subject, other: Subject): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function viewIn(params: URLSearchParams, subject: Subject): View {
  const view = params.get("view");
  if (subject === undefined) return "rows";
  if (view === "details" && "table" in subject) return view;
  return view === "plan" && "sql" in subject ? view : "rows";
}

function sortItem({ column, descending }: SortKey): string {
  return descending ? `-${column}` : /^[-+]/.test(column) ? `+${column}` : column;
}

function sortIn(params: URLSearchParams): SortKey[] {
  return parseList(params.get("sort") ?? "").map((item) => ({
    column: /^[-+]/.test(item) ? item.slice(1) : item,
    descending: item.startsWith("-"),
  }));
}

function filterIn(params: URLSearchParams): Predicate | null {
  try {
    const filter: unknown = JSON.parse(params.get("filter") ?? "null");
    return typeof filter === "object" ? (filter as Predicate | null) : null;
  } catch {
    return null;
  }
}

function widthsIn(params: URLSearchParams): Record<string, number> {
  const items = parseList(params.get("widths") ?? "").map((item) => /^(\d{1,4}) (.*)$/s.exec(item));
  return Object.fromEntries(items.flatMap((item) => (item ? [[item[2], Number(item[1])]] : [])));
}

/** Encodes a text for a query string as browsers do, but leaves safe characters readable. */
function encoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/%(?:2C|3A|2F|3B|40|24)/g, decodeURIComponent)
    .replaceAll("%20", "+")
    .replaceAll("'", "%27");
}
