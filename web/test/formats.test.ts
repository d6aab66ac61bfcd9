import { expect, test } from "vitest";
import type { Field } from "../src/model/schema.js";
import { type CopyFormat, type CsvOptions, htmlWriter, rowsWriter } from "../src/viewer/formats.js";

const field = (name: string, type: string): Field => ({ name, type, nullable: true, metadata: {} });
const FIELDS = [
  field("id", "int64"),
  field("note", "string"),
  field("price", "decimal128(12, 2)"),
  field("tags", "list<item: string>"),
];
const ROWS = [
  ["9223372036854775807", 'a "b"\t,|', "1.50", '["x"]'],
  [null, "", "0.00", null],
  ["-1", "two\nlines", null, "[]"],
];

function write(format: CopyFormat, hasHeader: boolean, fields = FIELDS, rows = ROWS): string {
  const writer = rowsWriter(format, fields, hasHeader);
  return (
    writer.head + rows.map((row, index) => writer.row(row, index === 0)).join("") + writer.tail
  );
}

test("TSV quotes what would end a cell, and distinguishes null from the empty text", () => {
  expect(write("tsv", false)).toBe(
    '9223372036854775807\t"a ""b""\t,|"\t1.50\t"[""x""]"\n\t""\t0.00\t\n-1\t"two\nlines"\t\t[]\n',
  );
});

test("CSV begins with column names", () => {
  expect(write("csv", true).split("\n")[0]).toBe("id,note,price,tags");
  expect(write("csv", true)).toContain(
    '9223372036854775807,"a ""b""\t,|",1.50,"[""x""]"\n,"",0.00,\n',
  );
});

test("CSV has the chosen delimiter and decimal sign", () => {
  const fields = [field("x", "double"), field("at", "timestamp[ms]"), field("note", "string")];
  const row = ["-1.5e-7", "2024-07-01 12:00:00.250", "1.5;a"];
  const line = (options: CsvOptions) => rowsWriter("csv", fields, true, options).row(row, true);
  expect(line({ delimiter: ";", decimal: "," })).toBe('-1,5e-7;2024-07-01 12:00:00.250;"1.5;a"\n');
  expect(line({ decimal: "," })).toBe('"-1,5e-7",2024-07-01 12:00:00.250,1.5;a\n');
  expect(line({ delimiter: "\t" })).toBe("-1.5e-7\t2024-07-01 12:00:00.250\t1.5;a\n");
  expect(rowsWriter("csv", fields, true, { delimiter: ";" }).head).toBe("x;at;note\n");
  const nulls = rowsWriter("csv", fields, true, { decimal: "," }).row([null, null, ""], true);
  expect(nulls).toBe(',,""\n');
});

test("JSON keeps all digits, nested values and repeated names", () => {
  const text = write("json", false);
  expect(text).toContain('"id":9223372036854775807,');
  expect(text).toContain('"price":1.50,"tags":["x"]}');
  expect(JSON.parse(text)).toHaveLength(3);
  expect(JSON.parse(text)[1]).toEqual({ id: null, note: "", price: 0, tags: null });
  const twice = [field("a", "double"), field("a", "binary"), field("a_2", "bool")];
  const rows = [
    ["NaN", "00ff (2 bytes)", "true"],
    ["1e-45", "(0 bytes)", null],
  ];
  expect(JSON.parse(write("json", false, twice, rows))).toEqual([
    { a: "NaN", "a (2)": "00ff", a_2: true },
    { a: 1e-45, "a (2)": "", a_2: null },
  ]);
});

test("Markdown is a table with any cell contents", () => {
  const lines = write("markdown", true).trimEnd().split("\n");
  expect(lines[1]).toBe("| ---: | --- | ---: | --- |");
  expect(lines[2]).toBe('| 9223372036854775807 | a "b"\t,\\| | 1.50 | \\["x"\\] |');
  expect(lines[4]).toBe("| -1 | two<br>lines |  | \\[\\] |");
});

test("HTML is escaped, and long numbers are protected from a spreadsheet's rounding", () => {
  const html = htmlWriter();
  expect(html.row(["<b>&", "9223372036854775807", "12.5", null], true)).toBe(
    `<tr><td>&lt;b&gt;&amp;</td><td style='mso-number-format:"\\@"'>9223372036854775807</td><td>12.5</td><td></td></tr>`,
  );
});
