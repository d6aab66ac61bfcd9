import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server } from "./tests/server.js";

/**
 * The tables of the server `small`, by name, with 100,000 rows each: every 30th flight, so that all dates
 * and airports occur, and the first rows of lineitem.
 */
const SMALL_TABLES = {
  flights: {
    sql: `select date, delay, distance, origin, destination
      from (select *, row_number() over (order by date, delay, distance, origin, destination) as n from flights)
      where n % 30 = 1 order by n`,
  },
  lineitem: { table: "lineitem", limit: 100_000 },
};

/**
 * Starts a server once so that it writes the demo tables, because tests also read their files; then writes
 * the small tables. The returned function removes these.
 */
export default async function globalSetup(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "colonnade-small-"));
  process.env.COLONNADE_SMALL_TABLES = folder;
  const server = await Server.start();
  try {
    for (const [name, query] of Object.entries(SMALL_TABLES)) {
      writeFileSync(join(folder, `${name}.parquet`), await exported(server.origin, query));
    }
  } finally {
    await server.kill();
  }
  return () => rmSync(folder, { recursive: true });
}

/** The rows of a query as a Parquet file. */
async function exported(origin: string, query: object): Promise<Buffer> {
  const response = await fetch(`${origin}/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...query, linger_s: 60 }),
  });
  const rows = await response.arrayBuffer();
  if (!response.ok) throw new Error(new TextDecoder().decode(rows));
  const id = response.headers.get("x-query-id");
  const file = await fetch(`${origin}/v1/query/${id}/export?format=parquet`);
  if (!file.ok) throw new Error(await file.text());
  return Buffer.from(await file.arrayBuffer());
}
