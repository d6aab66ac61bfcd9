// The operations of the soak test: each takes a client, and throws unless all answers are right.

import { once } from "node:events";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";

const NUM_ROWS = 6_001_215;
/** Lineitem in both kinds of files from which the server can read any row. */
const TABLES = ["arrow", "parquet"];
const COLUMNS = [
  "l_orderkey",
  "l_quantity",
  "l_extendedprice",
  "l_shipdate",
  "l_shipmode",
  "l_comment",
];
export const UPLOADS = ["upload-0", "upload-1", "upload-2", "upload-3"];
const CODECS = ["none", "lz4", "zstd"];
/** Of results whose rows are stored, if the disk for them is full. */
const STORED = ["rows_expired", "not_repeatable"];
/** Of statements that take much memory. */
const HEAVY = ["out_of_memory"];

/** Statements with their numbers of rows. */
const STATEMENTS = [
  (limit) => [`select * from arrow limit ${limit} offset 1000000`, limit],
  (limit) => [`select * from parquet where l_linenumber = 1 limit ${limit}`, limit],
  (limit) => [`select value, value % 7 as rest from generate_series(1, ${limit})`, limit],
  () => ["select l_shipmode, count(*), sum(l_extendedprice) from arrow group by l_shipmode", 7],
];

/** Statements that take seconds and much memory. */
const HEAVY_STATEMENTS = [
  (limit) => [`select * from parquet order by l_comment, l_orderkey limit ${limit}`, limit],
  () => ["select distinct l_orderkey from parquet", 1_500_000],
  () => ["select count(*) from arrow a join parquet b using (l_orderkey, l_linenumber)", 1],
];

/** Statements with their errors. */
const WRONG_STATEMENTS = [
  ["drop table arrow", "read_only"],
  ["selec l_orderkey from arrow", "sql_error"],
  ["select nothing from arrow", "unknown_column"],
  ["select 1 / (l_orderkey - l_orderkey) from arrow", "execution_error"],
];

/** Reads rows of a table; half of the readers leave at some time. */
async function read(client) {
  const leaves = client.random() < 0.5;
  if (leaves) client.leaveAfter(client.scaled(1, 60_000));
  const bytesASecond = client.scaled(leaves ? 1000 : 5e6, 1e9);
  const offset = Math.floor(client.random() * NUM_ROWS);
  const limit = client.scaled(1, 1_000_000);
  const accept = `application/vnd.apache.arrow.stream; codecs=${client.pick(CODECS)}`;
  const path = `${tablePath(client)}?offset=${offset}&limit=${limit}&${columns(client)}`;
  const response = await client.send(path, { headers: { accept } });
  await client.readRows(response, offset, Math.min(limit, NUM_ROWS - offset), { bytesASecond });
}

async function readUpload(client) {
  const name = client.pick(UPLOADS);
  const response = await client.send(`/v1/tables/${name}/rows`, { codes: ["unknown_table"] });
  await client.readRows(response, 0, [...client.uploads.get(name)]);
}

/** Reads ranges of one result at the same time. */
async function ranges(client) {
  await withResult(client, async (path, numRows) => {
    const readRange = async () => {
      const offset = Math.floor(client.random() * numRows);
      const limit = client.scaled(1, 10_000);
      const response = await client.send(`${path}/rows?offset=${offset}&limit=${limit}`, {
        codes: STORED,
      });
      await client.readRows(response, offset, Math.min(limit, numRows - offset));
    };
    await Promise.all(Array.from({ length: 6 }, readRange));
  });
}

async function statement(client, statements = STATEMENTS) {
  const [sql, numRows] = client.pick(statements)(client.scaled(1, 1_000_000));
  if (client.random() < 0.3) client.leaveAfter(client.scaled(1, 10_000));
  const response = await client.query({ sql }, HEAVY);
  await client.readRows(response, 0, numRows, { codes: HEAVY });
}

async function wrongStatement(client) {
  const [sql, code] = client.pick(WRONG_STATEMENTS);
  const response = await client.query({ sql }, [code]);
  await client.readRows(response, 0, 0, { codes: [code] });
  throw new Error(`no error: ${sql}`);
}

/** Sorts a table, or the one and a half million rows of a filter. */
async function sort(client) {
  const filter = { op: "eq", column: "l_linenumber", value: "1" };
  const isFiltered = client.random() < 0.5;
  const limit = client.scaled(1, 1_000_000);
  const response = await client.query({
    table: client.pick(TABLES),
    columns: [client.pick(COLUMNS), "l_linenumber"],
    sort: [client.pick(["l_linenumber", "-l_linenumber"])],
    limit,
    ...(isFiltered ? { filter } : {}),
  });
  await client.readRows(response, 0, limit);
}

async function find(client) {
  await withResult(client, async (path, numRows) => {
    let searched = 0;
    for (let from = 0; from !== null; ) {
      const text = client.pick(["pinto", "1996-0", "zzzz"]);
      const found = await client.json(`${path}/find?text=${text}&from=${from}`, { codes: STORED });
      searched += found.searched;
      from = found.next;
    }
    if (searched !== numRows) throw new Error(`searched ${searched} rows instead of ${numRows}`);
  });
}

async function summary(client) {
  await withResult(client, async (path, numRows, column) => {
    const { rows } = await client.json(`${path}/summary?column=${column}`, { codes: STORED });
    if (rows !== numRows) throw new Error(`a summary of ${rows} rows instead of ${numRows}`);
  });
}

/** Exports a result, and counts its lines or uploads the file. */
async function exportFile(client) {
  const format = client.pick(["csv", "ndjson", "parquet", "arrow"]);
  await withResult(client, async (path, numRows) => {
    const response = await client.send(`${path}/export?format=${format}`, { codes: STORED });
    const bytes = await buffer(response);
    if (format === "parquet" || format === "arrow") return put(client, bytes, numRows);
    const numLines = bytes.reduce((sum, byte) => sum + (byte === 10 ? 1 : 0), 0);
    const expected = numRows + (format === "csv" ? 1 : 0);
    if (numLines !== expected) throw new Error(`${numLines} lines of ${format}, not ${expected}`);
  });
}

async function upload(client) {
  const numRows = client.scaled(1, 200_000);
  const kind = client.pick(["csv", "csv.gz", "arrow stream"]);
  if (kind === "arrow stream") {
    const response = await client.send(`${tablePath(client)}?limit=${numRows}`);
    return put(client, await buffer(response), numRows);
  }
  const body = csv(numRows);
  await put(client, kind === "csv" ? body : gzipSync(body), numRows);
}

async function put(client, body, numRows) {
  const name = client.pick(UPLOADS);
  client.uploads.get(name).add(numRows);
  const headers = { "content-type": "text/csv" };
  const { rows } = await client.json(`/v1/tables/${name}`, { method: "PUT", body, headers });
  if (rows !== null && rows !== numRows) throw new Error(`${rows} rows instead of ${numRows}`);
}

async function deleteUpload(client) {
  await client.delete(`/v1/tables/${client.pick(UPLOADS)}`, ["unknown_table"]);
}

/** Cuts a connection in the middle of a request, or before one. */
async function cutRequest(client) {
  const { hostname, port, host } = client.address;
  const body = csv(client.scaled(1000, 100_000));
  const head = `PUT /v1/tables/${client.pick(UPLOADS)} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: text/csv\r\nContent-Length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head), body]);
  const socket = connect({ host: hostname, port: Number(port) });
  // The server may close the connection first.
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const numHead = Math.floor(client.random() * head.length);
  const numBody = Math.floor(client.random() * (bytes.length - 1));
  socket.write(bytes.subarray(0, client.pick([0, numHead, numBody])));
  await client.wait(client.scaled(1, 15_000)).finally(() => socket.destroy());
}

/** Deletes a result while its rows are read: the stream ends, and later requests are refused. */
async function deleteWhileReading(client) {
  const id = crypto.randomUUID();
  const response = await client.send(`${tablePath(client)}?id=${id}&sort=-l_extendedprice`);
  await client.delete(`/v1/query/${id}`);
  await buffer(response).catch(() => undefined);
  await client.send(`/v1/query/${id}/rows`, { codes: ["rows_expired"] });
  throw new Error("rows of a deleted result");
}

/** Calls `work` with the path, the number of rows and a column of a new result, and mostly deletes it. */
async function withResult(client, work) {
  const id = crypto.randomUUID();
  const numRows = client.scaled(1, 300_000);
  const order = client.pick(["", "&sort=-l_orderkey", "&sort=l_comment"]);
  const chosen = "columns=l_orderkey,l_shipmode,l_shipdate,l_comment";
  const path = `${tablePath(client)}?id=${id}&linger_s=60&limit=${numRows}&${chosen}${order}`;
  const first = await client.send(path);
  if (client.random() < 0.5) first.destroy();
  else await client.readRows(first, 0, numRows);
  await work(`/v1/query/${id}`, numRows, client.pick(["l_orderkey", "l_shipmode", "l_comment"]));
  if (client.random() < 0.8) await client.delete(`/v1/query/${id}`);
}

function tablePath(client) {
  return `/v1/tables/${client.pick(TABLES)}/rows`;
}

function columns(client) {
  const chosen = COLUMNS.filter(() => client.random() < 0.5);
  return chosen.length === 0 ? "" : `columns=${chosen.join(",")}`;
}

function csv(numRows) {
  const lines = Array.from(
    { length: numRows },
    (_, row) => `${row},text of row ${row},${row / 8}\n`,
  );
  return Buffer.from(`id,text,value\n${lines.join("")}`);
}

/** The operations by name; `weight` is how often each runs in relation to the others. */
export const OPERATIONS = {
  "reads of a table": { weight: 6, run: read },
  "reads of an upload": { weight: 3, run: readUpload },
  "ranges of a result": { weight: 4, run: ranges },
  "SQL statements": { weight: 6, run: statement },
  "heavy SQL statements": { weight: 1, run: (client) => statement(client, HEAVY_STATEMENTS) },
  "wrong SQL statements": { weight: 2, run: wrongStatement },
  sorts: { weight: 2, run: sort },
  finds: { weight: 2, run: find },
  summaries: { weight: 2, run: summary },
  exports: { weight: 2, run: exportFile },
  uploads: { weight: 3, run: upload },
  "deleted uploads": { weight: 1, run: deleteUpload },
  "cut requests": { weight: 3, run: cutRequest },
  "results deleted while read": { weight: 1, run: deleteWhileReading },
};
