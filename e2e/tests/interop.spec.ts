import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC as flechetteTable } from "@uwdata/flechette";
import { tableFromIPC as arrowTable, MessageReader, RecordBatchReader } from "apache-arrow";
import { colourRows, writeColours } from "./colours.js";
import { test as base, expect } from "./fixtures.js";
import { hasPython, plain, python, READERS, type Rows } from "./readers.js";
import { demoFile, inCheckout, Server } from "./server.js";
import { wordRows, writeWords } from "./words.js";

// Other Arrow readers read every value of the server's streams.

const test = base.extend<object, { server: Server }>({
  // These tests need no page.
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  failOnErrors: async ({}, use) => use(undefined),
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "colonnade-"));
      writeColours(join(folder, "colours.arrow"), 2);
      writeWords(join(folder, "words.arrows"));
      const server = await Server.start([folder]);
      await use(server);
      await server.kill();
      rmSync(folder, { recursive: true });
    },
    { scope: "worker" },
  ],
});

const COLOURS = "/v1/tables/colours/rows?batch_bytes=65536";
const ID = "0f9d3c1e-5b7a-4c68-9d2e-3a1b5c7d9e0f";

async function fetchStream(server: Server, path: string, codec?: string): Promise<Uint8Array> {
  const type = "application/vnd.apache.arrow.stream";
  const headers = { accept: codec === undefined ? type : `${type}; codecs=${codec}` };
  const response = await fetch(server.origin + path, { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe(
    codec === undefined ? type : `${type}; codecs=${codec}`,
  );
  return new Uint8Array(await response.arrayBuffer());
}

/** Compares row by row; reports only the first row that differs. */
function expectRows(rows: Rows, expected: object[]): void {
  expect(rows.length).toBe(expected.length);
  const index = rows.findIndex((row, at) => JSON.stringify(row) !== JSON.stringify(expected[at]));
  if (index >= 0) expect({ index, ...rows[index] }).toEqual({ index, ...expected[index] });
}

for (const [name, read] of Object.entries(READERS)) {
  test.describe(name, () => {
    test.skip(name === "pyarrow" && !hasPython, "pyarrow is not installed");

    test("a table: dictionary, list and struct, in many batches", async ({ server }) => {
      expectRows(read(await fetchStream(server, COLOURS)), colourRows(0, 40_000));
    });

    test("with checksums", { tag: name === "apache-arrow" ? [] : "@full" }, async ({ server }) => {
      const stream = await fetchStream(server, `${COLOURS}&checksum=xxh3`);
      expectRows(read(stream), colourRows(0, 40_000));
    });

    test("rows of a result that start in the middle of a batch", async ({ server }) => {
      await fetchStream(server, `${COLOURS}&id=${ID}`);
      const rest = await fetchStream(server, `/v1/query/${ID}/rows?offset=12345&limit=20001`);
      expectRows(read(rest), colourRows(12_345, 32_346));
    });

    test("a dictionary that grows and is replaced", async ({ server }) => {
      const stream = await fetchStream(server, "/v1/tables/words/rows?batch_bytes=16384");
      expect(dictionariesOf(stream)).toEqual(["whole", "delta", "whole"]);
      expectRows(read(stream), wordRows());
    });

    test("no rows", async ({ server }) => {
      expectRows(read(await fetchStream(server, "/v1/tables/colours/rows?limit=0")), []);
      expectRows(read(await fetchStream(server, "/v1/tables/words/rows?filter=n<0")), []);
    });

    for (const codec of ["lz4", "zstd"]) {
      const tag = codec === "lz4" ? [] : "@full";
      test(`bodies compressed with ${codec}`, { tag }, async ({ server }) => {
        const stream = await fetchStream(server, COLOURS, codec);
        // The JavaScript readers have no codecs and throw an error.
        if (name === "pyarrow") expectRows(read(stream), colourRows(0, 40_000));
        else expect(() => read(stream)).toThrow(/codec|compress/i);
      });
    }
  });
}

/** The kinds of a stream's dictionary batches, in order. */
function dictionariesOf(stream: Uint8Array): ("whole" | "delta")[] {
  const kinds: ("whole" | "delta")[] = [];
  const messages = new MessageReader(stream);
  for (let message = messages.readMessage(); message; message = messages.readMessage()) {
    const header = message.header();
    if ("isDelta" in header) kinds.push(header.isDelta ? "delta" : "whole");
    messages.readMessageBody(message.bodyLength);
  }
  return kinds;
}

/** Writes some columns of an Arrow file as a stream. */
const SELECT = `
import sys
import pyarrow.ipc as ipc
table = ipc.open_file(sys.argv[1]).read_all().select(sys.argv[2:])
with ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
    stream.write(table)
`;

/** JavaScript readers of columns; `unknown` matches unsupported columns of `every_type`. */
const COLUMN_READERS = {
  "apache-arrow": {
    read: (bytes: Uint8Array) => {
      const table = arrowTable(bytes);
      return (name: string, row: number) => table.getChild(name)?.get(row);
    },
    unknown: /view|run_end/,
  },
  flechette: {
    read: (bytes: Uint8Array) => {
      const table = flechetteTable(bytes);
      return (name: string, row: number) => table.getChild(name).at(row);
    },
    unknown: /thousands/,
  },
};

/** A cell's value or the reader's error, e.g. for values that JavaScript's numbers cannot hold. */
function valueOrRefusal(read: () => unknown): unknown {
  try {
    return plain(read());
  } catch (thrown) {
    return String(thrown);
  }
}

for (const [name, { read, unknown }] of Object.entries(COLUMN_READERS)) {
  test(`${name} reads every type as in pyarrow's own stream`, async ({ demo }) => {
    test.skip(!hasPython, "pyarrow is not installed");
    const table = await (await fetch(`${demo.origin}/v1/tables/every_type`)).json();
    const columns = (table.fields as { name: string }[])
      .map((field) => field.name)
      .filter((column) => !unknown.test(column));
    const list = encodeURIComponent(columns.map((column) => `"${column}"`).join());
    const streamed = read(await fetchStream(demo, `/v1/tables/every_type/rows?columns=${list}`));
    const written = read(python(SELECT, [demoFile("every_type.arrow"), ...columns]));
    for (const column of columns) {
      const rows = Array.from({ length: table.rows as number }, (_, row) => row);
      const shown = rows.map((row) => valueOrRefusal(() => streamed(column, row)));
      expect(shown, column).toEqual(rows.map((row) => valueOrRefusal(() => written(column, row))));
    }
  });
}

/** Compares streams of the demo tables with pyarrow's own reading of their files. */
const COMPARE = `
import sys, urllib.request
import pyarrow.ipc as ipc, pyarrow.parquet as pq
stream = ipc.open_stream(urllib.request.urlopen(sys.argv[1]))
streamed = stream.read_all()
is_parquet = sys.argv[2].endswith(".parquet")
file = pq.read_table(sys.argv[2], schema=streamed.schema) if is_parquet else ipc.open_file(sys.argv[2]).read_all()
assert streamed.schema.equals(file.schema), streamed.schema
assert streamed.num_rows == file.num_rows
for name, a, b in zip(streamed.column_names, streamed.columns, file.columns):
    rows = range(file.num_rows)
    # A NaN equals nothing, itself included.
    same = a.equals(b) or all(a.slice(k, 1).to_string() == b.slice(k, 1).to_string() for k in rows)
    assert same, f"{name} differs from the file"
print(streamed.num_rows)
`;

for (const [table, file, numRows] of [
  ["lineitem", "lineitem.parquet", 6_001_215],
  ["every_type", "every_type.arrow", 24],
] as const) {
  const tag = table === "lineitem" ? "@full" : [];
  test(`pyarrow reads ${table}: every value, in file order`, { tag }, async ({ demo }) => {
    test.skip(!hasPython, "pyarrow is not installed");
    const printed = python(COMPARE, [`${demo.origin}/v1/tables/${table}/rows`, demoFile(file)]);
    expect(String(printed).trim()).toBe(String(numRows));
  });
}

/** Prints the custom metadata of the last batch, which is empty, and the number of rows. */
const READ_NUMBERED = `
import sys
import pyarrow.ipc as ipc
reader, rows = ipc.open_stream(sys.argv[1]), 0
while True:
    try:
        batch, metadata = reader.read_next_batch_with_custom_metadata()
    except StopIteration:
        break
    batch.validate(full=True)
    rows += batch.num_rows
print(rows, *sorted(f"{k.decode()}={v.decode()}" for k, v in metadata.items() if k != b"colonnade.xxh3"))
`;

test("pyarrow and apache-arrow read messages whose metadata has row numbers", async () => {
  const file = inCheckout("fixtures/numbered.arrows");
  let numRows = 0;
  for (const batch of RecordBatchReader.from(await readFile(file))) numRows += batch.numRows;
  expect(numRows).toBe(300);

  test.skip(!hasPython, "pyarrow is not installed");
  expect(String(python(READ_NUMBERED, [file])).trim()).toMatch(
    /^300 colonnade.first_row=300 colonnade.seq=\d+ colonnade.total_batches=30 colonnade.total_rows=300$/,
  );
});

test("requested columns and rows are returned in the requested order", async ({ demo }) => {
  const response = await fetch(
    `${demo.origin}/v1/tables/lineitem/rows?columns=l_linenumber,l_orderkey&offset=6001213&limit=2`,
  );
  const reader = await RecordBatchReader.from(response);
  const rows: unknown[] = [];
  const names: string[] = [];
  for await (const batch of reader) {
    names.splice(0, names.length, ...batch.schema.fields.map((field) => String(field.name)));
    for (const row of batch) rows.push(row.toArray().map(String));
  }
  expect(names).toEqual(["l_linenumber", "l_orderkey"]);
  expect(rows).toEqual([
    ["1", "6000000"],
    ["2", "6000000"],
  ]);
});
