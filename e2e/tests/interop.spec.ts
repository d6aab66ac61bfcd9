import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { RecordBatchReader } from "apache-arrow";
import { expect, test } from "./fixtures.js";
import { inCheckout } from "./server.js";

const packages = process.env.COLONNADE_PYTHON_PACKAGES;

/** Reads lineitem with pyarrow, and compares it with pyarrow's own reading of the Parquet file. */
const READ_WITH_PYARROW = `
import sys, urllib.request
import pyarrow.ipc as ipc, pyarrow.parquet as pq
stream = ipc.open_stream(urllib.request.urlopen(sys.argv[1] + "/v1/tables/lineitem/rows"))
streamed = stream.read_all()
file = pq.read_table(sys.argv[2], schema=streamed.schema)
assert streamed.equals(file), "the stream differs from the file"
print(streamed.num_rows)
`;

test("pyarrow reads the stream: every value, in file order", async ({ demo }) => {
  test.skip(!packages, "pyarrow is not here; npm test said so");
  const cache =
    process.env.COLONNADE_CACHE_DIR ??
    `${process.env.XDG_CACHE_HOME ?? `${process.env.HOME}/.cache`}/colonnade`;
  const { stdout } = await promisify(execFile)(
    "python3",
    ["-c", READ_WITH_PYARROW, demo.origin, `${cache}/lineitem.parquet`],
    { env: { ...process.env, PYTHONPATH: packages } },
  );
  expect(stdout.trim()).toBe("6001215");
});

test("apache-arrow reads the stream", async ({ demo }) => {
  const response = await fetch(`${demo.origin}/v1/tables/flights/rows`);
  const reader = await RecordBatchReader.from(response);
  let numRows = 0;
  for await (const batch of reader) numRows += batch.numRows;
  expect(numRows).toBe(3_000_000);
});

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

test("pyarrow and apache-arrow read messages that are numbered in front", async () => {
  const file = inCheckout("fixtures/numbered.arrows");
  let numRows = 0;
  for (const batch of RecordBatchReader.from(await readFile(file))) numRows += batch.numRows;
  expect(numRows).toBe(300);

  test.skip(!packages, "pyarrow is not here; npm test said so");
  const env = { ...process.env, PYTHONPATH: packages };
  const { stdout } = await promisify(execFile)("python3", ["-c", READ_NUMBERED, file], { env });
  expect(stdout.trim()).toMatch(
    /^300 colonnade.first_row=300 colonnade.seq=\d+ colonnade.total_batches=30 colonnade.total_rows=300$/,
  );
});

test("the columns and rows asked for come in the order asked for", async ({ demo }) => {
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
