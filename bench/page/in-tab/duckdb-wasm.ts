// DuckDB-Wasm, which reads files by ranges in its worker, with a plain table.

import { AsyncDuckDB, ConsoleLogger, DuckDBDataProtocol, LogLevel } from "@duckdb/duckdb-wasm";
import { PlainTable, SHOWN_ROWS, start } from "./start.js";

const table = new PlainTable();
let from = "";

const connecting = (async () => {
  const worker = new Worker("/peers/duckdb-worker.js");
  const database = new AsyncDuckDB(new ConsoleLogger(LogLevel.WARNING), worker);
  await database.instantiate("/peers/duckdb.wasm");
  const connection = await database.connect();
  // Where the extension that reads Parquet files is.
  await connection.query(`set custom_extension_repository = '${location.origin}/extensions'`);
  return { database, connection };
})();

async function register(url: string): Promise<string> {
  const { database } = await connecting;
  const name = url.split("/").at(-1) ?? "";
  const address = new URL(url, location.href).href;
  await database.registerFileURL(name, address, DuckDBDataProtocol.HTTP, false);
  return `'${name}'`;
}

async function showRow(row: number): Promise<void> {
  const { connection } = await connecting;
  const rows = await connection.query(
    `select columns(*)::varchar from ${from} limit ${SHOWN_ROWS} offset ${row}`,
  );
  table.show(
    row,
    rows.toArray().map((cells) => Object.values(cells.toJSON())),
  );
}

start({
  openFile: async (url) => {
    table.clear();
    from = await register(url);
    await showRow(0);
  },
  showRow,
  shownRow: (row) => table.row(row),
  readAll: async (url) => {
    const { connection } = await connecting;
    const batches: { numRows: number }[] = [];
    for await (const batch of await connection.send(`select * from ${await register(url)}`, true)) {
      batches.push(batch);
    }
    return batches.reduce((sum, { numRows }) => sum + numRows, 0);
  },
});
