// The golden streams and files of Apache Arrow through `open`: schema, texts and values match their
// JSON, for pieces of any size.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Table } from "../src/api/table.js";
import { type ExpectedTable, readIntegrationJson } from "./integration.js";
import { seededRandom } from "./random.js";
import { inPieces, readHere, textOf, tryHere } from "./sources.js";

const { COLONNADE_CONFORMANCE: folder, COLONNADE_SEED } = process.env;
if (folder === undefined) {
  console.info("COLONNADE_CONFORMANCE is not set: the golden streams are skipped");
}
const gold = folder === undefined ? [] : goldStreams(join(folder, "arrow/gold"));
const seed = Number(COLONNADE_SEED ?? Math.floor(Math.random() * 2 ** 31));

function goldStreams(root: string): string[] {
  const sets = readdirSync(root).map((set) => join(root, set));
  const files = sets.flatMap((set) => readdirSync(set).map((name) => join(set, name)));
  return files.filter((path) => path.endsWith(".stream")).sort();
}

async function expectTable(table: Table, wanted: ExpectedTable, name: string): Promise<void> {
  expect(table.state, name).toBe("complete");
  expect(table.warning, name).toBeUndefined();
  expect(table.numRows, name).toBe(wanted.numRows);
  expect(table.schema.metadata, name).toEqual(wanted.metadata);
  const fields = table.schema.fields.map(({ type: _, ...field }) => field);
  expect(fields, name).toEqual(
    wanted.columns.map(({ name, nullable, metadata }) => ({ name, nullable, metadata })),
  );
  const rows = await textOf(table);
  for (const [index, column] of wanted.columns.entries()) {
    const texts = rows.map((row) => row[index]);
    expect(texts, `${name}: ${column.name}`).toEqual(column.text);
    const { values, validity } = await table.values(index, { start: 0, end: table.numRows });
    const list = Array.from(values as Iterable<unknown>, (value, row) =>
      validity[row] === 1 ? value : null,
    );
    const raw = column.raw ?? column.text;
    expect(list, `${name}: values of ${column.name}`).toEqual(raw);
  }
}

describe.runIf(gold.length > 0)(`every golden stream and file is its JSON (seed ${seed})`, () => {
  for (const stream of gold) {
    test(stream.split("/").slice(-2).join("/"), { timeout: 60_000 }, async () => {
      const wanted = readIntegrationJson(stream.replace(/stream$/, "json.gz"));
      for (const path of [stream, stream.replace(/stream$/, "arrow_file")]) {
        const bytes = new Uint8Array(readFileSync(path));
        const name = basename(path);
        const whole = await readHere(bytes);
        await expectTable(whole, wanted, `${name} as bytes`);
        const rows = await textOf(whole);
        await expectTable(await readHere(new Blob([bytes])), wanted, `${name} as a Blob`);
        // Pieces this small would only be too many in large files.
        const sizes = [1, 7, 64, 4096, bytes.length].filter((size) => bytes.length / size < 3000);
        const ways = sizes.map((size): [string, () => number] => [`pieces of ${size}`, () => size]);
        const random = seededRandom(seed);
        ways.push(["random pieces", () => 1 + Math.floor(random() ** 4 * bytes.length)]);
        for (const [way, next] of ways) {
          const table = await readHere(inPieces(bytes, next));
          expect(table.schema, `${name} in ${way}`).toEqual(whole.schema);
          expect(await textOf(table), `${name} in ${way}`).toEqual(rows);
        }
      }
    });
  }
});

test.runIf(gold.length > 0)("a truncated golden file fails and keeps its rows", async () => {
  const path = gold.find((path) => path.endsWith("2.0.0-compression/generated_zstd.stream"));
  const bytes = new Uint8Array(readFileSync(`${path?.slice(0, -6)}arrow_file`));
  let mostRows = 0;
  for (let end = 0; end < bytes.length; end += 13) {
    const cut = bytes.slice(0, end);
    for (const source of [cut, inPieces(cut, () => 100)]) {
      const { table, error } = await tryHere(source);
      expect(error, `cut at ${end}`).toMatchObject({
        code: expect.stringMatching(/^(?:missing_end_of_stream|truncated_message)$/),
      });
      mostRows = Math.max(mostRows, table?.numRows ?? 0);
    }
  }
  expect(mostRows).toBe(60);
});
