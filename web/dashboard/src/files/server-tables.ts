import type { CatalogTable } from "../catalog/catalog.js";
import { session } from "../server/session.js";

/** What the server says of its tables, as far as uploads go. */
export interface ServerTables {
  /** Whether it takes uploads. */
  writable: boolean;
  /** The largest upload that it takes. */
  max_upload_bytes: number | null;
  tables: CatalogTable[];
}

/** Reads the list of tables as it is now. */
export async function fetchServerTables(): Promise<ServerTables> {
  const response = await session.fetch("/v1/tables");
  return (await response.json()) as ServerTables;
}

/** Removes an uploaded table. */
export async function removeTable(name: string): Promise<void> {
  await session.fetch(`/v1/tables/${encodeURIComponent(name)}`, { method: "DELETE" });
}
