import type { ColonnadeViewer } from "colonnade";
import type { Subject } from "../address/address.js";
import { splitTypes } from "../address/read-as.js";
import type { Shell } from "../shell/shell.js";
import { exportName } from "./export.js";

/** The shown rows as a request, for exports and generated code. */
export interface ShownRows {
  /** The request for these rows. */
  request: Request;
  /** Columns, sort and filter as in the body of `POST /v1/query`; empty for all rows unsorted. */
  arrangement: Record<string, unknown>;
  rows: { table: string } | { sql: string };
  /** A file name without extension. */
  name: string;
  /** The number of rows, if known. */
  totalRows: number | undefined;
}

/** The shown rows if the server has them; otherwise the reason why not, as a text for the user. */
export async function shownRows({ address, viewer }: Shell): Promise<ShownRows | string> {
  const { subject } = address;
  if (subject !== undefined && "file" in subject) {
    return "This file is open in this tab only, not on the server. Upload it first, with the Upload button in the list of files.";
  }
  const request = subject === undefined ? undefined : viewer.shownRequest();
  if (subject === undefined || request === undefined) {
    return "No rows have loaded yet. Try again when the first rows are shown.";
  }
  const { sort, filter, columns } = JSON.parse(await request.clone().text()) as {
    sort: unknown[];
    filter?: unknown;
    columns?: unknown;
  };
  const table = "table" in subject ? splitTypes(subject.table)[0] : undefined;
  return {
    request,
    arrangement: {
      ...(columns === undefined ? {} : { columns }),
      ...(filter === undefined ? {} : { filter }),
      ...(sort.length === 0 ? {} : { sort }),
    },
    rows: subject,
    name: exportName(table, filter !== undefined, new Date()),
    totalRows: filter === undefined ? viewer.table?.progress.totalRows : undefined,
  };
}

/** Rows that only this tab has: those of an open file, or those that arrived before a stream ended early. */
export interface RowsHere {
  viewer: ColonnadeViewer;
  name: string;
  totalRows: number;
  /** Whether others did not arrive. */
  isPartial: boolean;
}

/** The shown rows if only this tab has them. */
export function rowsHere({ address, viewer }: Shell): RowsHere | undefined {
  const { subject } = address;
  const { table, view } = viewer;
  if (subject === undefined || table === undefined || !view?.numRows) return undefined;
  const isPartial = table.state === "cancelled" || table.state === "failed";
  const isFile = "file" in subject && table.state === "complete";
  if (!isPartial && !isFile) return undefined;
  const name = exportName(nameOf(subject), viewer.filter !== null, new Date());
  return {
    viewer,
    name: isPartial ? `${name}-partial` : name,
    totalRows: view.numRows,
    isPartial,
  };
}

/** The name of a table, or of a file without its extension; undefined for a statement. */
function nameOf(subject: NonNullable<Subject>): string | undefined {
  if ("file" in subject) return subject.file.replace(/\.\w+$/, "");
  return "table" in subject ? splitTypes(subject.table)[0] : undefined;
}
