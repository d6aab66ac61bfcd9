import type { CatalogTable } from "../catalog/catalog.js";
import { session } from "../server/session.js";

/** The list of tables and the server's limits for uploads. */
export interface ServerTables {
  /** Whether the server accepts uploads. */
  writable: boolean;
  /** The largest upload in bytes; null for no limit. */
  max_upload_bytes: number | null;
  tables: CatalogTable[];
}

/** Reads the list of tables. */
export async function fetchServerTables(): Promise<ServerTables> {
  const response = await session.fetch("/v1/tables");
  return (await response.json()) as ServerTables;
}

/** Removes an uploaded table. */
export async function removeTable(name: string): Promise<void> {
  await session.fetch(`/v1/tables/${encodeURIComponent(name)}`, { method: "DELETE" });
}
