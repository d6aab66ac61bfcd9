/** The types of files that the page opens or uploads. */
export type FileType = "arrow" | "parquet" | "csv" | "tsv" | "ndjson";

/** A file type with the media type of its upload, or why the file is refused. */
export type DetectedType = { fileType: FileType; mediaType: string } | { refusal: string };

/** The number of first bytes that {@link detectFileType} reads. */
export const HEAD_BYTES = 4096;

const MEDIA_TYPES: Record<FileType, string> = {
  arrow: "application/vnd.apache.arrow.stream",
  parquet: "application/vnd.apache.parquet",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  ndjson: "application/x-ndjson",
};

const TEXT_FILE_TYPES: Record<string, FileType> = {
  csv: "csv",
  txt: "csv",
  tsv: "tsv",
  tab: "tsv",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

const TAKEN =
  "Supported are Arrow (.arrow, .feather, .arrows), Parquet, CSV, TSV and NDJSON files.";

/** The first bytes of refused files, and what the user can do. */
const OTHERS: readonly [magic: string, what: string][] = [
  ["FEA1", "a Feather version 1 file. Save it again as version 2, which is an Arrow file."],
  ["PARE", "an encrypted Parquet file. Save it again without encryption."],
  ["SQLite format 3\0", "an SQLite database. Save its tables as CSV or Parquet."],
  ["ORC", "an ORC file. Save it again as Parquet."],
  ["Obj\x01", "an Avro file. Save it again as Parquet."],
  ["%PDF", "a PDF file. Tables in a PDF cannot be read exactly."],
  ["BZh", "a bzip2 file. Unpack it first; gzip and zstd need no unpacking."],
  ["\xfd7zXZ", "an xz file. Unpack it first; gzip and zstd need no unpacking."],
  ["\xff\xfe", "text in UTF-16. Save it again as UTF-8."],
  ["\xfe\xff", "text in UTF-16. Save it again as UTF-8."],
];

/** Detects a file type from the first bytes, and from the name only where they are ambiguous. */
export function detectFileType(name: string, head: Uint8Array): DetectedType {
  const bytes = String.fromCharCode(...head.subarray(0, 32));
  const [extension = "", inner = ""] = name.toLowerCase().split(".").slice(1).reverse();
  if (head.length === 0) return refused(name, "is empty.");
  if (bytes.startsWith("ARROW1") || isArrowStream(head, extension)) return known("arrow");
  if (bytes.startsWith("PAR1")) return known("parquet");
  if (bytes.startsWith("\x1f\x8b") || bytes.startsWith("\x28\xb5\x2f\xfd")) {
    const fileType = TEXT_FILE_TYPES[inner];
    if (fileType !== undefined) return known(fileType);
    return refused(
      name,
      "is compressed as a whole. Only CSV, TSV and NDJSON files can be opened compressed, such as trips.csv.gz. Unpack it first.",
    );
  }
  if (bytes.startsWith("PK\x03\x04")) {
    const isWorkbook = /^xls[xm]$|^ods$/.test(extension);
    return refused(
      name,
      isWorkbook ? "is a workbook. Save its sheet as CSV." : "is a zip archive. Unpack it first.",
    );
  }
  if (bytes.startsWith("DUCK", 8)) {
    return refused(name, "is a DuckDB database. Save its tables as Parquet.");
  }
  const other = OTHERS.find(([magic]) => bytes.startsWith(magic));
  if (other !== undefined) return refused(name, `is ${other[1]}`);
  const text = textOf(head);
  const fileType = text === undefined ? undefined : textFileType(text, extension);
  if (fileType === "json") {
    return refused(name, "is one JSON value. Convert it to NDJSON, with one object per line.");
  }
  return fileType === undefined
    ? refused(name, `is not a supported file type. ${TAKEN}`)
    : known(fileType);
}

function known(fileType: FileType): DetectedType {
  return { fileType, mediaType: MEDIA_TYPES[fileType] };
}

function refused(name: string, why: string): DetectedType {
  return { refusal: `“${name}” ${why}` };
}

/** A stream begins with a continuation marker and a length; before Arrow 0.15 with the length. */
function isArrowStream(head: Uint8Array, extension: string): boolean {
  if (head.length < 8) return false;
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const hasMarker = view.getUint32(0, true) === 0xffffffff;
  const numBytes = view.getInt32(hasMarker ? 4 : 0, true);
  const isLength = numBytes >= 0 && numBytes < 2 ** 28;
  return isLength && (hasMarker || (extension === "arrows" && numBytes > 0));
}

/** Decodes UTF-8, whose last character may be cut; undefined if the bytes are not text. */
function textOf(head: Uint8Array): string | undefined {
  if (head.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
  } catch {
    return undefined;
  }
}

function textFileType(text: string, extension: string): FileType | "json" | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const first = lines[0]?.trim() ?? "";
  const isJson =
    first.startsWith("{") || (first.startsWith("[") && TEXT_FILE_TYPES[extension] !== "csv");
  if (isJson && TEXT_FILE_TYPES[extension] !== "csv" && TEXT_FILE_TYPES[extension] !== "tsv") {
    return isObject(first) || (lines.length === 1 && first.startsWith("{") && extension !== "json")
      ? "ndjson"
      : "json";
  }
  const fileType = TEXT_FILE_TYPES[extension];
  if (fileType !== undefined && !(extension === "txt" && first.includes("\t"))) return fileType;
  // Without a known extension, the first two lines must have the same number of fields.
  return (["\t", ","] as const)
    .map((delimiter) => lines.slice(0, 2).map((line) => line.split(delimiter).length))
    .flatMap(([header = 1, row = 1], index) => {
      const isTable = header > 1 && header === row;
      return isTable ? [index === 0 ? ("tsv" as const) : ("csv" as const)] : [];
    })[0];
}

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
