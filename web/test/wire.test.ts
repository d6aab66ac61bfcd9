// Streams that only some writers produce (`fixtures/make_wire.py`), compared with pyarrow's values.

import { readFileSync } from "node:fs";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { inPieces, openHere, readHere, textOf, tryHere } from "./sources.js";

interface Case {
  file: string;
  rows: number;
  columns: { name: string; type: string; text: (string | null)[] }[];
  /** The error code. */
  error?: string;
  /** Whether a file's footer lists the messages in file order; if not, only the footer's order is valid. */
  in_order?: boolean;
}

const INTEGERS = /^(?:(?:dictionary<values=|run_end_encoded<.*values: )?u?int\d)/;

const read = (path: string) =>
  new Uint8Array(readFileSync(new URL(`../../fixtures/${path}`, import.meta.url)));
const cases: Case[] = JSON.parse(new TextDecoder().decode(read("wire.json")));

for (const { file, rows, columns, error, in_order: inOrder } of cases) {
  test(`${file} ${error === undefined ? "reads as in pyarrow" : `is refused: ${error}`}`, async () => {
    const bytes = read(`wire/${file}`);
    const sources = [bytes, new Blob([bytes])];
    const streams = [1, 7, 4096].map((size) => inPieces(bytes, () => size));
    if (error !== undefined) {
      for (const source of sources) {
        expect((await tryHere(source)).error).toMatchObject({ code: error });
      }
      return;
    }
    if (inOrder === false) {
      for (const source of streams) {
        const code = expect.stringMatching(/^invalid_(?:header|data)$/);
        expect((await tryHere(source)).error).toMatchObject({ code });
      }
    }
    for (const source of inOrder === false ? sources : [...sources, ...streams]) {
      const table = await readHere(source);
      expect(table.numRows).toBe(rows);
      expect(table.warning).toBeUndefined();
      const fields = table.schema.fields.map(({ name, type }) => [name, type]);
      expect(fields).toEqual(columns.map(({ name, type }) => [name, type]));
      const texts = await textOf(table);
      for (const [index, { name, type, text }] of columns.entries()) {
        if (INTEGERS.test(type)) {
          const { values, validity } = await table.values(index, { start: 0, end: rows });
          const digits = Array.from(values as Iterable<unknown>, String);
          expect(digits.map((digits, row) => (validity[row] === 1 ? digits : null))).toEqual(text);
        }
        expect(
          texts.map((row) => row[index]),
          name,
        ).toEqual(text);
      }
    }
  });
}

test("an extension type's values are found and summarised as displayed", async () => {
  const table = await readHere(read("wire/extensions.arrows"));
  expect((await table.find("7DEC-11d0", { columns: ["uuid"] })).matches).toEqual([
    { row: 1, columns: ["uuid"] },
    { row: 4, columns: ["uuid"] },
  ]);
  expect((await table.find("true", { columns: ["bool8"] })).matches.map(({ row }) => row)).toEqual([
    1, 3, 4,
  ]);
  const { min, max } = await table.summary("uuid");
  expect([min, max]).toEqual([
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
  ]);
  const { values } = await table.values("uuid", { start: 1, end: 2 });
  expect(values).toEqual(["f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]);
});

const FOREIGN: [string, string | Uint8Array, RegExp][] = [
  ["Parquet", "PAR1\x15\x04\x15\x10", /^this is a Parquet file;/],
  ["Feather V1", "FEA1\0\0\0\0", /a Feather file of version 1/],
  ["gzip", Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0), /compressed with gzip/],
  ["Zstandard", Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 4, 0, 0, 0), /compressed with Zstandard/],
  ["a spreadsheet", "PK\x03\x04\x14\0\x06\0", /a ZIP archive/],
  ["HTML", "<!doctype html>", /HTML or XML/],
  ["JSON", '{"a": 1}', /JSON/],
  ["CSV", "id,name\n1,a\n", /text, such as CSV/],
  ["a short CSV", "a,b\n", /text, such as CSV/],
  [
    "noise",
    Uint8Array.of(0x80, 0x81, 0x82, 0x83, 0, 0, 0, 0),
    /neither an Arrow IPC stream nor a file/,
  ],
];

for (const [name, content, message] of FOREIGN) {
  test(`${name} is named in the error`, async () => {
    // A Parquet file in a Blob is read.
    const blob = new Blob([content as BlobPart]);
    const source = name === "Parquet" ? new Response(blob) : blob;
    await expect(openHere(source)).rejects.toMatchObject({
      code: "not_arrow",
      message: expect.stringMatching(message),
    });
  });
}

test("a file in a Response is read as it comes", async () => {
  const table = await readHere(new Response(read("wire/delta.arrow")));
  expect(table.numRows).toBe(11);
});

test("a batch of more than 256 MiB is read", { timeout: 60_000 }, async () => {
  const values = new Uint8Array(2 ** 28 + 1).fill(7, -1);
  const table = await readHere(tableToIPC(tableFromArrays({ values }), "stream"));
  expect(table.numRows).toBe(values.length);
  const last = { start: values.length - 1, end: values.length };
  expect(await table.text(last)).toEqual([["7"]]);
});
