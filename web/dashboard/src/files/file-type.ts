/** The types of files that the page opens or uploads. */
export type FileType = "arrow" | "parquet" | "csv" | "tsv" | "ndjson" | "json";

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
  json: "application/json",
};

const TEXT_FILE_TYPES: Record<string, FileType> = {
  csv: "csv",
  txt: "csv",
  tsv: "tsv",
  tab: "tsv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
};

const TAKEN =
  "Supported are Arrow (.arrow, .feather, .arrows), Parquet, CSV, TSV, NDJSON and JSON files.";

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
];

/** The byte order marks of texts in UTF-16. */
const UTF_16_MARKS = [
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
] as const;

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
      "is compressed as a whole. Only CSV, TSV, NDJSON and JSON files can be opened compressed, such as trips.csv.gz. Unpack it first.",
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
  const text = textOf(head, TEXT_FILE_TYPES[extension] !== undefined);
  const fileType = text === undefined ? undefined : textFileType(text, extension);
  if (fileType === "value") {
    return refused(
      name,
      "is JSON, but not a table. Write an array of objects, or one object per line.",
    );
  }
  return fileType === undefined
    ? refused(name, `is not a supported file type. ${TAKEN}`)
    : known(fileType);
}

/** Whether files of a type are text, whose encoding and values can be read in several ways. */
export function isTextType(fileType: FileType): boolean {
  return fileType !== "arrow" && fileType !== "parquet";
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

/**
 * Decodes the first bytes of a text, whose last character may be cut; undefined if they are not text.
 *
 * @param isNamedText whether the file's extension says that it is text, in whatever encoding
 */
function textOf(head: Uint8Array, isNamedText: boolean): string | undefined {
  const [first, second] = head;
  for (const [encoding, mark] of UTF_16_MARKS) {
    if (first === mark[0] && second === mark[1]) {
      return new TextDecoder(encoding).decode(head, { stream: true });
    }
  }
  try {
    if (!head.includes(0)) {
      return new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    }
  } catch {
    // Another encoding.
  }
  if (!isNamedText) return undefined;
  // Characters that decide the type are the same in all encodings, apart from the zero bytes of UTF-16.
  return new TextDecoder("windows-1252").decode(head.filter((byte) => byte !== 0));
}

/** The type of a text; "value" for JSON that is not a table. */
function textFileType(text: string, extension: string): FileType | "value" | undefined {
  const named = TEXT_FILE_TYPES[extension];
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const first = lines[0]?.trim() ?? "";
  if (named !== "csv" && named !== "tsv") {
    const isLines =
      isObject(first) || (lines.length === 1 && first.startsWith("{") && extension !== "json");
    if (isLines) return "ndjson";
    if (/^\s*\[\s*\{/.test(text)) return "json";
    if (/^[[{]/.test(first)) return "value";
  }
  const isTabbedTxt = extension === "txt" && first.includes("\t");
  if (named !== undefined && named !== "json" && !isTabbedTxt) return named;
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
