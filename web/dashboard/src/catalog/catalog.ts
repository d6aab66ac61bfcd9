import type { Field } from "colonnade";
import { fetchJson } from "../server/requests.js";
import { formatCount } from "../text/format.js";
import { quoteNameIfNeeded } from "../text/quote.js";

/** A file that is not shown. */
export interface LeftOutFile {
  path: string;
  /** Why, in one line. */
  detail: string;
}

/** A table of the server. */
export interface CatalogTable {
  name: string;
  /** The format of its source, e.g. `parquet`. */
  format: string;
  /** Null if the rows can only be counted by reading them all. */
  rows: number | null;
  bytes: number | null;
  /** Changes when the files do. */
  version: string;
  /** Whether it was uploaded and can be removed. */
  uploaded: boolean;
  /** Empty if the table cannot be read. */
  fields: Pick<Field, "name" | "type" | "nullable">[];
  /** Files of its folder or glob that could not be read, so that their rows are missing. */
  left_out: LeftOutFile[];
  /** Why the table cannot be read; absent if it can. */
  error?: string;
}

/** The list of tables. */
export interface Catalog {
  tables: CatalogTable[];
  /** Files of the served folders that are not tables; absent for an engine. */
  left_out?: LeftOutFile[] | undefined;
  /** Why there are none, if a remote engine cannot list them. */
  note?: string | undefined;
}

/**
 * Reads the list of tables; undefined if it still has that ETag.
 *
 * @throws ColonnadeError `network_error`, or the server's error
 */
export async function fetchCatalog(
  etag?: string,
): Promise<(Catalog & { etag: string | undefined }) | undefined> {
  const response = await fetchJson("/v1/tables", etag);
  if (response.status === 304) return undefined;
  const { tables, left_out, note } = (await response.json()) as Catalog;
  return { tables, left_out, note, etag: response.headers.get("etag") ?? undefined };
}

/** `1 file left out`; undefined if the table has the rows of all its files. */
export function leftOutText({ left_out: files }: CatalogTable): string | undefined {
  if (files.length === 0) return undefined;
  return `${formatCount(files.length)} ${files.length === 1 ? "file" : "files"} left out`;
}

/** A statement with at most 50 rows: the most frequent values of a column, or the first rows of the table. */
export function exampleSql(name: string, column: string | undefined): string {
  const table = quoteNameIfNeeded(name);
  if (column === undefined) return `SELECT * FROM ${table} LIMIT 50`;
  const key = quoteNameIfNeeded(column);
  const count = column === "rows" ? "n" : "rows";
  return `SELECT ${key}, count(*) AS ${count} FROM ${table} GROUP BY ${key} ORDER BY ${count} DESC LIMIT 20`;
}

/** Tables whose name, or one of whose columns, contains every word of the filter. */
export function filterCatalog(tables: readonly CatalogTable[], filter: string): CatalogTable[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return tables.filter(({ name, fields }) => {
    const names = [name, ...fields.map((field) => field.name)].join("\n").toLowerCase();
    return words.every((word) => names.includes(word));
  });
}
