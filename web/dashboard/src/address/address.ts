import type { Predicate, SortKey } from "colonnade";
import { listText, parseList } from "../text/quote.js";

/**
 * What is looked at: a table, the rows of a statement (an empty one has not been run), or a file that
 * is open in this tab.
 */
export type Subject = { table: string } | { sql: string } | { file: string } | undefined;

/** Which side of it is shown. */
export type View = "rows" | "details" | "plan";

/** How its rows are shown, in the terms of the viewer's `state`. */
export interface RowsState {
  sort: readonly SortKey[];
  filter: Predicate | null;
  columns: {
    /** Undefined for all, in the order of the table. */
    shown?: readonly string[] | undefined;
    pinned: readonly string[];
    widthsPx: Readonly<Record<string, number>>;
  };
  /** The first visible row, counted from 0. */
  row: number;
}

/** All that the address says. */
export interface Place {
  subject: Subject;
  view: View;
  state: RowsState;
  /** What the chart panel made of its state; undefined where there is no chart. */
  chart: string | undefined;
}

/** Rows as they come, from the first one. */
export const PLAIN_STATE: RowsState = {
  sort: [],
  filter: null,
  columns: { shown: undefined, pinned: [], widthsPx: {} },
  row: 0,
};

/** The place at which a subject is first seen. */
export function placeOf(subject: Subject, view: View = "rows"): Place {
  return { subject, view, state: PLAIN_STATE, chart: undefined };
}

/** The place that an address's query string says; what it says wrongly is left out. */
export function placeIn(search: string): Place {
  const params = new URLSearchParams(search);
  const table = params.get("table");
  const sql = params.get("sql");
  const file = params.get("file");
  const subject = table ? { table } : sql !== null ? { sql } : file ? { file } : undefined;
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

/** The address of a place, short where it is as a subject is first seen. */
export function addressOf({ subject, view, state, chart }: Place): string {
  if (subject === undefined) return "/";
  const { sort, filter, columns, row } = state;
  const params: Record<string, string> = { ...subject };
  if (view !== "rows") params.view = view;
  if (columns.shown !== undefined) params.columns = listText(columns.shown);
  if (columns.pinned.length > 0) params.pinned = listText(columns.pinned);
  const widths = Object.entries(columns.widthsPx).map(([name, px]) => `${px} ${name}`);
  if (widths.length > 0) params.widths = listText(widths);
  if (sort.length > 0) params.sort = listText(sort.map(sortItem));
  if (filter !== null) params.filter = JSON.stringify(filter);
  if (row > 0) params.row = String(row);
  if (chart !== undefined) params.chart = chart;
  return `/?${Object.entries(params)
    .map(([name, value]) => `${name}=${encoded(value)}`)
    .join("&")}`;
}

/** The state of a viewer in the terms of an address: columns that are all there go unsaid. */
export function rowsStateOf(
  { sort, filter, columns, row }: RowsState,
  fieldNames: readonly string[],
): RowsState {
  const { shown, pinned, widthsPx } = columns;
  const isAll =
    shown?.length === fieldNames.length && shown.every((name, i) => name === fieldNames[i]);
  return {
    sort: sort.map(({ column, descending }) => ({ column, descending: descending === true })),
    filter: filter && (JSON.parse(JSON.stringify(filter, exactly)) as Predicate),
    columns: { shown: isAll ? undefined : shown, pinned, widthsPx },
    row,
  };
}

/** Whether two states ask for the same rows in the same order. */
export function isSameArrangement(one: RowsState, other: RowsState): boolean {
  return JSON.stringify([one.sort, one.filter]) === JSON.stringify([other.sort, other.filter]);
}

/** Numbers that JSON cannot hold, as the texts that a predicate takes for them. */
function exactly(_key: string, value: unknown): unknown {
  const isLost = typeof value === "number" && !Number.isFinite(value);
  if (Object.is(value, -0)) return "-0";
  return isLost || typeof value === "bigint" ? String(value) : value;
}

/** Whether two places are of the same rows, however they are shown. */
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

/** Text for a query string as browsers give it back, with what is safe there left readable. */
function encoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/%(?:2C|3A|2F|3B|40|24)/g, decodeURIComponent)
    .replaceAll("%20", "+")
    .replaceAll("'", "%27");
}
