import { ColonnadeError, type Field } from "colonnade";

/** A table that the server offers. */
export interface CatalogTable {
  name: string;
  /** The kind of its source, e.g. `parquet`. */
  format: string;
  /** Null where counting would mean reading it all. */
  rows: number | null;
  bytes: number | null;
  fields: Pick<Field, "name" | "type" | "nullable">[];
}

/** Reads the list of tables. */
export async function fetchCatalog(): Promise<CatalogTable[]> {
  let response: Response;
  try {
    response = await fetch("/v1/tables");
  } catch {
    throw new ColonnadeError("network_error", "Could not reach the server.");
  }
  if (!response.ok) {
    throw new ColonnadeError("http_error", `The server answered ${response.status}.`);
  }
  const { tables } = (await response.json()) as { tables: CatalogTable[] };
  return tables;
}

/** The address of a table's rows. */
export function rowsUrl(name: string): string {
  return `/v1/tables/${encodeURIComponent(name)}/rows`;
}

/** The request that runs a statement; the answer is its rows. */
export function queryRequest(sql: string): Request {
  return new Request("/v1/query", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
}

/** Tables whose name, or one of whose columns, contains every word of the filter. */
export function filterCatalog(tables: readonly CatalogTable[], filter: string): CatalogTable[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return tables.filter(({ name, fields }) => {
    const names = [name, ...fields.map((field) => field.name)].join("\n").toLowerCase();
    return words.every((word) => names.includes(word));
  });
}
