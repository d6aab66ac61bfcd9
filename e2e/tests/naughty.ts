import { readFileSync } from "node:fs";
import { python } from "./readers.js";
import { inCheckout } from "./server.js";

/** A table of text columns with any names. */
export interface TextTable {
  names: string[];
  columns: (string | null)[][];
}

const LIST = JSON.parse(readFileSync(inCheckout("fixtures/naughty/blns.json"), "utf8")) as string[];

/** Distinct texts that often break programs: those of the list, and more that may break tables. */
export const STRINGS: readonly string[] = [
  ...new Set([
    ...["", "__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "length"],
    ...[
      "a (2)",
      "null",
      "x".repeat(10_000),
      "  spaces  ",
      "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
    ],
    ...[
      "\u202egnp.exe",
      "\u2067\u05d0\u2069 \u0661",
      "e\u0301\u0327\u0323",
      "Z\u0351\u036b\u0343\u036a",
    ],
    ...[
      "\0",
      "a\0b",
      "\u001b[31m",
      "\u007f",
      "\u0085",
      "\u2028",
      "\u2029",
      "\ufeff",
      "\ufffe",
      "\u{10ffff}",
    ],
    ...[
      "a\nb",
      "a\r\nb",
      "a\rb",
      "\n",
      "a\tb",
      "\t",
      '"',
      '""',
      '"a,b"',
      ",",
      ";",
      "'",
      "\\",
      "\\n",
      "|",
      "`",
    ],
    ...[
      "<img src=x onerror=window.pwned=1>",
      "<script>window.pwned=1</script>",
      "&lt;b&gt;",
      "&amp;",
    ],
    ...["</td></table><svg onload=window.pwned=1>", "<!--", "]]>", "javascript:window.pwned=1"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text is meant to contain it
    ...["${window.pwned=1}", "{{constructor.constructor('window.pwned=1')()}}", "#{1}", "%s%n"],
    ...["=cmd|' /C calc'!A0", "+1+1", "-1", "@SUM(1)", "\t=1+1", "\r=1+1"],
    ...["*a*", "_a_", "~~a~~", "[a](javascript:window.pwned=1)", "![](x)", "# a", "a <br> b"],
    ...LIST,
  ]),
];

/** Five rows, with one column named after each of the texts. */
export const WIDE: TextTable = {
  names: [...STRINGS],
  columns: STRINGS.map((_, index) => [
    ...[1, 7, 50].map((by) => STRINGS[(index + by) % STRINGS.length] ?? ""),
    null,
    "a text",
  ]),
};

/** One row for each of the texts, in three columns whose names are such texts. */
export const TALL: TextTable = {
  names: ["__proto__", "=cmd|' /C calc'!A0", "<img src=x onerror=window.pwned=1>"],
  columns: [0, 1, 2].map((by) =>
    STRINGS.map((_, row) => STRINGS[(row + by) % STRINGS.length] ?? ""),
  ),
};

/** As {@link WIDE}, with more columns whose names occur two or three times. */
export const DOUBLED: TextTable = {
  names: [...WIDE.names, "a", "a", "", "__proto__", "a", "x".repeat(10_000)],
  columns: [...WIDE.columns, ...WIDE.columns.slice(10, 16)],
};

const WRITE = `
import json, sys
import pyarrow as pa
from pyarrow import csv, feather, parquet
path = sys.argv[1]
given = json.load(sys.stdin)
columns = [pa.array(column, pa.string()) for column in given["columns"]]
table = pa.Table.from_arrays(columns, names=given["names"])
if path.endswith(".arrow"):
    feather.write_feather(table, path, compression="uncompressed")
elif path.endswith(".parquet"):
    parquet.write_table(table, path)
else:
    csv.write_csv(table, path)
`;

/** Writes a table with pyarrow; the path's extension is `.arrow`, `.parquet` or `.csv`. */
export function writeTable(path: string, table: TextTable): void {
  python(WRITE, [path], Buffer.from(JSON.stringify(table)));
}

const WRITE_INVALID = `
import sys
import pyarrow as pa
lone = b"\\xed\\xa0\\x80"
offsets = pa.array([0, len(lone)], pa.int32()).buffers()[1]
text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(lone)])
batch = pa.record_batch([text], names=["text"])
with pa.OSFile(sys.argv[1], "wb") as file, pa.ipc.new_stream(file, batch.schema) as writer:
    writer.write(batch)
`;

/** Writes an Arrow stream with a text that is a lone surrogate, which is invalid UTF-8. */
export function writeInvalid(path: string): void {
  python(WRITE_INVALID, [path]);
}

const READ = `
import io, json, sys
from pyarrow import ipc, parquet
source = io.BytesIO(sys.stdin.buffer.read())
table = parquet.read_table(source) if sys.argv[1] == "parquet" else ipc.open_file(source).read_all()
table.validate(full=True)
json.dump({"names": table.column_names, "columns": [c.to_pylist() for c in table.columns]}, sys.stdout)
`;

/** Reads a Parquet or Arrow file with pyarrow. */
export function readTable(format: "parquet" | "arrow", bytes: Uint8Array): TextTable {
  return JSON.parse(String(python(READ, [format], bytes))) as TextTable;
}

/** The rows of a table. */
export function rowsOf({ columns }: TextTable): (string | null)[][] {
  return (columns[0] ?? []).map((_, row) => columns.map((column) => column[row] ?? null));
}
