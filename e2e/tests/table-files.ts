import { python } from "./readers.js";

/** The files have 2,000 rows of integers beyond 2⁵³, texts with nulls, decimals and times. */
const WRITE = `
import decimal, gzip, json, sys
import pyarrow as pa, pyarrow.csv, pyarrow.feather, pyarrow.parquet
folder, rows = sys.argv[1], range(2000)
table = pa.table({
    "id": pa.array([2**53 + n for n in rows], pa.int64()),
    "word": pa.array([None if n % 7 == 0 else f"wörd, \\"{n % 50}\\"" for n in rows]),
    "price": pa.array([decimal.Decimal(n * n % 99991) / 100 for n in rows], pa.decimal128(12, 2)),
    "at": pa.array([1_700_000_000_000_000 + n for n in rows], pa.timestamp("us", "UTC")),
})
pa.parquet.write_table(table, f"{folder}/source.parquet")
pa.parquet.write_table(table, f"{folder}/trips.parquet")
pa.feather.write_feather(table, f"{folder}/local.feather", compression="zstd")
with pa.OSFile(f"{folder}/stream.bin", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table, max_chunksize=700)
texts = table.select(["id", "word"])
pa.csv.write_csv(texts, f"{folder}/trips-2024.csv")
with gzip.open(f"{folder}/packed.csv.gz", "wb") as file:
    file.write(open(f"{folder}/trips-2024.csv", "rb").read())
with open(f"{folder}/trips.ndjson", "w") as file:
    for row in texts.to_pylist():
        file.write(json.dumps(row) + "\\n")
with open(f"{folder}/tabs.tsv", "w") as file:
    file.write("id\\tword\\n" + "".join(f"{r['id']}\\tw{i}\\n" for i, r in enumerate(texts.to_pylist())))
open(f"{folder}/broken.csv", "w").write("a,b\\n" + "1,2\\n" * 3000 + "1,2,3\\n")
open(f"{folder}/page.html", "w").write("<!doctype html><p>hello, there</p>")
open(f"{folder}/large.csv", "w").write("a,b\\n" + "1234567890,1234567890\\n" * 900_000)
`;

/** Writes files of all types into a folder; `trips.parquet` and `local.feather` have all columns. */
export function writeTableFiles(folder: string): void {
  python(WRITE, [folder]);
}

const READ = `
import json, sys
import pyarrow as pa, pyarrow.csv, pyarrow.feather, pyarrow.json, pyarrow.parquet
def read(path, format):
    if format == "csv":
        names = open(path).readline().rstrip("\\n").split(",")
        as_text = pa.csv.ConvertOptions(column_types={name: pa.string() for name in names},
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
    if format == "parquet": table = pa.parquet.read_table(path)
    if format == "arrow": table = pa.ipc.open_file(path).read_all()
    if format == "arrows": table = pa.ipc.open_stream(path).read_all()
    if format == "csv": table = pa.csv.read_csv(path, convert_options=as_text)
    if format == "ndjson": table = pa.table({k: [r[k] for r in rows] for k in rows[0]}) if (rows := [
        json.loads(line, parse_float=str) for line in open(path)]) else pa.table({})
    return {"types": {f.name: str(f.type) for f in table.schema},
        "rows": [[None if v is None else str(v) for v in row.values()] for row in table.to_pylist()]}
print(json.dumps([read(path, format) for path, format in zip(sys.argv[1::2], sys.argv[2::2])]))
`;

/** The column types of a file, and its rows with values as Python prints them. */
export interface FileContents {
  types: Record<string, string>;
  rows: (string | null)[][];
}

/** A file's path and format. */
export type TableFile = readonly [
  path: string,
  format: "parquet" | "arrow" | "arrows" | "csv" | "ndjson",
];

/** Reads files with pyarrow, or NDJSON with Python's `json`; Python starts once for all of them. */
export function readTableFiles(files: readonly TableFile[]): FileContents[] {
  return JSON.parse(String(python(READ, files.flat()))) as FileContents[];
}

/** Reads a file as {@link readTableFiles} does. */
export function readTableFile(...file: TableFile): FileContents {
  const [contents] = readTableFiles([file]);
  if (contents === undefined) throw new Error("the file was not read");
  return contents;
}
