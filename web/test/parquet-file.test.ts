// Files of other programs, and damaged ones, by the built reader. COLONNADE_SEED says with which number the
// drawn damage and ranges begin, and COLONNADE_FULL that there are many.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Table, tableFromIPC } from "apache-arrow";
import { describe, expect, test } from "vitest";
import { serveFetch } from "../src/http/serve-ports.js";
import { ColonnadeError } from "../src/model/errors.js";
import type { FileOrder } from "../src/model/file-source.js";
import { FileServer } from "../src/reader/file-server.js";
import { ParquetFile } from "../src/reader/parquet-file.js";
import { seededRandom } from "./random.js";
import { read } from "./rows.js";

const { COLONNADE_CONFORMANCE: conformance, COLONNADE_FULL } = process.env;
if (conformance === undefined) {
  console.info("COLONNADE_CONFORMANCE is not set: the Parquet files are skipped");
}
const seed = Number(process.env.COLONNADE_SEED ?? "1");
const NUM_DAMAGED = COLONNADE_FULL ? 2000 : 150;
const NUM_RANGES = COLONNADE_FULL ? 200 : 12;
const MAX_DAMAGED_BYTES = 100_000;
const LONGEST_MS = 2000;
const PAGES = "alltypes_tiny_pages_plain.parquet";

/** The files that are refused, and why. */
const REFUSED = [
  // Its pages are compressed and say that they are not.
  "ARROW-17100.parquet: unsupported_parquet",
  // Has a list where later versions of the format have the length of a Bloom filter.
  "dict-page-offset-zero.parquet: invalid_parquet",
  // A text of 1 GiB.
  "large_string_map.brotli.parquet: memory_budget_exceeded",
  "nation.dict-malformed.parquet: invalid_parquet",
  // Its columns do not say whether they are optional.
  "strings.parquet: invalid_parquet",
  "ARROW-GH-41317.parquet: invalid_parquet",
  "ARROW-GH-47662.parquet: invalid_parquet",
  "ARROW-RS-GH-6229-LEVELS.parquet: invalid_parquet",
];

const files = new Map<string, Uint8Array<ArrayBuffer>>();
for (const folder of conformance === undefined ? [] : ["parquet/data", "parquet/bad_data"]) {
  for (const name of readdirSync(join(conformance ?? "", folder)).sort()) {
    files.set(name, new Uint8Array(readFileSync(join(conformance ?? "", folder, name))));
  }
}

const compiled = WebAssembly.compile(new Uint8Array(read("pkg/colonnade_reader.wasm")));
const NEVER = new AbortController().signal;

const contentOf = (name: string) => files.get(name) ?? new Uint8Array();
const open = (bytes: Uint8Array<ArrayBuffer>) =>
  ParquetFile.open({ kind: "blob", blob: new Blob([bytes]) }, compiled, NEVER);

/** Answers requests for the rows of a file. */
const answerOf = (
  opening: Promise<ParquetFile>,
  budget: Partial<FileOrder> = {},
  closed = NEVER,
) => {
  const file = { kind: "blob", blob: new Blob() } as const;
  const order = { file, memoryBytes: 2 ** 30, computedBytes: 2 ** 28, ...budget };
  const wasm = Promise.resolve(new Uint8Array(read("pkg/colonnade_wasm_bg.wasm")));
  return new FileServer(opening, order, wasm, closed).answer;
};

/** All bytes of a stream. */
const bytesOf = async (stream: ReadableStream<Uint8Array>) =>
  new Uint8Array(await new Response(stream as ReadableStream<BufferSource>).arrayBuffer());

const streamOf = (file: ParquetFile, start = 0, end = file.numRows) =>
  bytesOf(file.rows({ start, end }, NEVER));

/** Rows of batches whose messages alone are read: Arrow's reader does not know all types and compressions. */
function rowsOfMessages(stream: Uint8Array): number {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  let numRows = 0;
  for (let at = 0; at < stream.length; ) {
    expect(view.getUint32(at, true), `byte ${at}`).toBe(0xffffffff);
    const metadataBytes = view.getUint32(at + 4, true);
    at += 8;
    if (metadataBytes === 0) {
      expect(at, "bytes after the end of the stream").toBe(stream.length);
      return numRows;
    }
    const message = tableAt(view, at + view.getUint32(at, true));
    const bodyAt = message(3);
    const type = message(1);
    const header = message(2);
    // 3 is the type of record batches; their first field is the number of rows.
    if (type !== undefined && header !== undefined && view.getUint8(type) === 3) {
      const length = tableAt(view, header + view.getUint32(header, true))(0);
      numRows += length === undefined ? 0 : Number(view.getBigInt64(length, true));
    }
    at += metadataBytes + (bodyAt === undefined ? 0 : Number(view.getBigInt64(bodyAt, true)));
  }
  throw new Error("the stream ends without its marker");
}

/** Where the fields of a FlatBuffers table are. */
function tableAt(view: DataView, at: number): (field: number) => number | undefined {
  const fields = at - view.getInt32(at, true);
  const numFields = (view.getUint16(fields, true) - 4) / 2;
  return (field) => {
    const offset = field < numFields ? view.getUint16(fields + 4 + 2 * field, true) : 0;
    return offset === 0 ? undefined : at + offset;
  };
}

/** What reading a file comes to: its rows, or its error. Throws if it is no error of this package. */
async function outcomeOf(bytes: Uint8Array<ArrayBuffer>): Promise<number | ColonnadeError> {
  try {
    const file = await open(bytes);
    const numRows = rowsOfMessages(await streamOf(file));
    if (numRows !== file.numRows) throw new Error(`${numRows} of ${file.numRows} rows`);
    return numRows;
  } catch (thrown) {
    if (thrown instanceof ColonnadeError) return thrown;
    throw thrown;
  }
}

/** Rejects if work takes long. */
async function inTime<T>(work: Promise<T>, name: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begun = performance.now();
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} hangs`)), LONGEST_MS);
  });
  try {
    const value = await Promise.race([work, late]);
    expect(performance.now() - begun, name).toBeLessThan(LONGEST_MS);
    return value;
  } finally {
    clearTimeout(timer);
  }
}

/** A copy of a file with some damage. */
function damaged(bytes: Uint8Array<ArrayBuffer>, random: () => number) {
  const whole = (end: number) => Math.floor(random() * end);
  const copy = bytes.slice();
  const kind = whole(4);
  if (kind === 0) {
    const cut = copy.slice(0, whole(copy.length));
    return { bytes: cut, how: `cut to ${cut.length} bytes` };
  }
  // The footer is small in large files, and most can go wrong there.
  const footerBytes = new DataView(copy.buffer).getUint32(copy.length - 8, true);
  const footer = Math.max(0, copy.length - 8 - footerBytes);
  const [from, to] = kind === 1 ? [4, footer] : [footer, copy.length - (kind === 2 ? 8 : 0)];
  const flips = 1 + whole(kind === 3 ? 20 : 3);
  const places = Array.from({ length: flips }, () => {
    const at = from + whole(to - from);
    copy[at] = whole(256);
    return `${at}=${copy[at]}`;
  });
  return { bytes: copy, how: `bytes ${places.join(" ")}` };
}

/** The values of columns as JSON; undefined for those that Arrow's reader cannot read. */
function columnsOf(table: Table): (string[] | undefined)[] {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part)) ??
    "";
  return table.schema.fields.map((_, column) => {
    try {
      return Array.from({ length: table.numRows }, (_, row) =>
        text(table.getChildAt(column)?.get(row)),
      );
    } catch {
      return undefined;
    }
  });
}

const decode = (stream: Uint8Array) => columnsOf(tableFromIPC(stream));

describe.runIf(conformance !== undefined)("the files of other programs", () => {
  test.each([...files.keys()])("%s gives all its rows, or an error", async (name) => {
    await inTime(outcomeOf(contentOf(name)), name);
  });

  test("only files that are damaged or unusual have errors", async () => {
    const failed: string[] = [];
    for (const [name, bytes] of files) {
      const outcome = await outcomeOf(bytes);
      if (outcome instanceof ColonnadeError) failed.push(`${name}: ${outcome.code}`);
    }
    expect(failed).toEqual(REFUSED);
  });

  test(`damaged files end in rows or an error (COLONNADE_SEED=${seed})`, async () => {
    console.info(`COLONNADE_SEED=${seed}: ${NUM_DAMAGED} damaged files`);
    const names = [...files.keys()].filter((name) => contentOf(name).length < MAX_DAMAGED_BYTES);
    const codes = new Map<string, number>();
    const wrong: string[] = [];
    for (let number = seed; number < seed + NUM_DAMAGED; number++) {
      const random = seededRandom(number);
      const name = names[Math.floor(random() * names.length)] ?? "";
      const { bytes, how } = damaged(contentOf(name), random);
      const what = `COLONNADE_SEED=${number}: ${name}, ${how}`;
      const outcome = await inTime(outcomeOf(bytes), what).catch((thrown: Error) => {
        wrong.push(`${what}: ${thrown}`);
        return 0;
      });
      const code = typeof outcome === "number" ? "rows" : outcome.code;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect(wrong).toEqual([]);
    // Damage is noticed, and not everywhere.
    expect(codes.size).toBeGreaterThan(1);
    expect(await outcomeOf(contentOf("alltypes_plain.snappy.parquet"))).toBe(2);
  }, 600_000);

  test("files that are read at the same time do not disturb each other", async () => {
    const good = await open(contentOf(PAGES));
    const before = await streamOf(good, 0, 100);
    const reading = streamOf(good);
    await Promise.all([...files.values()].map(outcomeOf));
    expect(rowsOfMessages(await reading)).toBe(good.numRows);
    expect(await streamOf(good, 0, 100)).toEqual(before);
  });

  test("a file whose reader has crashed says so from then on, and other files are not affected", async () => {
    const good = await open(contentOf(PAGES));
    const reading = streamOf(good);
    // The library's reader of levels traps here.
    const bytes = contentOf("float16_nonzeros_and_nans.parquet").slice();
    bytes[75] = 112;
    const file = await open(bytes);
    for (let time = 0; time < 2; time++) {
      await expect(streamOf(file)).rejects.toMatchObject({ code: "reader_crashed" });
    }
    expect(rowsOfMessages(await reading)).toBe(good.numRows);
  });

  test("any rows are the same rows of the whole file", async () => {
    const file = await open(contentOf(PAGES));
    const whole = decode(await streamOf(file));
    expect(whole.filter((column) => column !== undefined).length).toBeGreaterThan(10);
    const random = seededRandom(seed);
    const point = () => Math.floor(random() * (file.numRows + 1));
    const ranges = Array.from({ length: NUM_RANGES }, () => [point(), point()] as const);
    for (const [one, other] of [...ranges, [0, 0] as const, [0, 1] as const]) {
      const [start, end] = [Math.min(one, other), Math.max(one, other)];
      const again = random() < 0.5 ? file : await open(contentOf(PAGES));
      const part = decode(await streamOf(again, start, end));
      for (const [column, values] of whole.entries()) {
        expect(part[column], `column ${column} of [${start}, ${end})`).toEqual(
          values?.slice(start, end),
        );
      }
    }
  });

  test("several readers of a file that run at the same time do not disturb each other", async () => {
    const file = await open(contentOf(PAGES));
    const whole = await streamOf(file);
    const wholeColumns = decode(whole);
    const cancelled = new AbortController();
    const aborted = file.rows({ start: 0, end: file.numRows }, cancelled.signal).getReader();
    const left = file.rows({ start: 1000, end: file.numRows }, NEVER).getReader();
    const full = streamOf(file);
    const part = streamOf(file, 3000, 5000);
    for (let chunk = 0; chunk < 3; chunk++) {
      await aborted.read();
      await left.read();
    }
    cancelled.abort();
    await expect(aborted.read()).rejects.toMatchObject({ name: "AbortError" });
    await left.cancel();
    // Batches depend on what is known of pages, rows do not.
    expect(decode(await full)).toEqual(wholeColumns);
    expect(decode(await part)).toEqual(wholeColumns.map((column) => column?.slice(3000, 5000)));
    expect(decode(await streamOf(file))).toEqual(wholeColumns);
  });

  test("a stream that is not read does no work, and can be cancelled", async () => {
    const file = await open(contentOf(PAGES));
    await file.rows({ start: 0, end: file.numRows }, NEVER).cancel();
    const gone = file.rows({ start: 0, end: file.numRows }, AbortSignal.abort()).getReader();
    await expect(gone.read()).rejects.toMatchObject({ name: "AbortError" });
    expect(rowsOfMessages(await streamOf(file, 0, 10))).toBe(10);
  });

  test("rows are served by their numbers, as a server does", async () => {
    const file = await open(contentOf(PAGES));
    const answer = answerOf(Promise.resolve(file));
    const rowsAt = async (query: string, headers: Record<string, string> = {}) => {
      const response = await answer(`https://file.invalid/v1/tables/t/rows${query}`, { headers });
      expect(response.headers.get("x-result-order"), query).toBe("partition");
      return response;
    };
    const count = async (query: string) =>
      rowsOfMessages(new Uint8Array(await (await rowsAt(query)).arrayBuffer()));
    expect(await count("")).toBe(file.numRows);
    expect(await count("?offset=100&limit=50")).toBe(50);
    expect(await count(`?offset=${file.numRows - 5}&limit=50`)).toBe(5);
    expect(await count("?limit=0")).toBe(0);
    expect(await count(`?offset=${file.numRows}`)).toBe(0);
    // A small file is read whole, also if its rows could be requested later.
    expect((await rowsAt("?id=q", { prefer: "return=minimal" })).status).toBe(200);
    const record = await answer("https://file.invalid/v1/query/q", {});
    expect(await record.json()).toMatchObject({ state: "done", rows: file.numRows });
    expect((await answer("https://file.invalid/v1/query/q", { method: "DELETE" })).status).toBe(
      204,
    );
    const gone = await answer("https://file.invalid/v1/query/q", {});
    expect(gone.status).toBe(404);
    expect(await gone.json()).toMatchObject({ code: "unknown_query" });
  });

  test("a file that does not fit the budget is begun, and its rows are computed with", async () => {
    const file = await open(contentOf(PAGES));
    const [numbers] = decode(await streamOf(file));
    const ids = numbers?.map(Number) ?? [];
    const answer = answerOf(Promise.resolve(file), { memoryBytes: 1000 });
    const ask = (path: string) =>
      answer(`https://file.invalid/v1/${path}`, { headers: { prefer: "return=minimal" } });
    const facts = await (await ask("tables/file")).json();
    expect(facts).toMatchObject({ rows: file.numRows, canLoadAll: false });
    expect((await ask("tables/file/rows?id=all")).status).toBe(204);
    const filter = encodeURIComponent(JSON.stringify({ op: "ge", column: "id", value: 7000 }));
    const passing = ids.filter((id) => id >= 7000);
    const sorted = await ask(`tables/file/rows?id=some&filter=${filter}&sort=-"id"`);
    const rows = decode(new Uint8Array(await sorted.arrayBuffer()));
    expect(rows[0]?.map(Number)).toEqual(passing.toSorted((a, b) => b - a));
    const part = await answer("https://file.invalid/v1/query/some/rows?offset=5&limit=3", {});
    expect(decode(new Uint8Array(await part.arrayBuffer()))[0]).toEqual(rows[0]?.slice(5, 8));
    const summary = await (await ask("query/some/summary?column=id")).json();
    expect(summary).toMatchObject({
      rows: passing.length,
      min: `${Math.min(...passing)}`,
      nulls: 0,
    });
    const found = await (await ask(`query/some/find?text=${passing[3]}&columns="id"`)).json();
    expect(found.matches[0]?.columns).toEqual(["id"]);
    for (const [path, code] of [
      ["query/all/summary?column=nothing", "unknown_column"],
      [`tables/file/rows?filter=${filter.replace("7000", "true")}`, "bad_filter"],
      ['tables/file/rows?filter={"and":5}', "bad_filter"],
      ["tables/file/rows?filter=id", "bad_filter"],
      ["query/all/find?text=a&from=-5", "bad_parameter"],
      ["query/all/find?text=a&limit=0", "bad_parameter"],
      ["query/all/find?text=a&columns=", "bad_parameter"],
    ]) {
      expect(await (await ask(path ?? "")).json()).toMatchObject({ code });
    }
    const left = new AbortController();
    const leaving = answerOf(Promise.resolve(file), {}, left.signal);
    const late = leaving(`https://file.invalid/v1/tables/file/rows?filter=${filter}`, {});
    left.abort();
    await expect(late).rejects.toMatchObject({ name: "AbortError" });
    const small = answerOf(Promise.resolve(file), { computedBytes: 1000 });
    await small("https://file.invalid/v1/tables/file/rows?id=all", {});
    const refused = await small("https://file.invalid/v1/query/all/summary?column=id", {});
    expect(await refused.json()).toMatchObject({ code: "memory_budget_exceeded" });
  });

  test("rows behind the end are none", async () => {
    const file = await open(contentOf(PAGES));
    const answer = answerOf(Promise.resolve(file));
    const response = await answer("https://file.invalid/v1/tables/t/rows?offset=999999", {});
    expect(rowsOfMessages(new Uint8Array(await response.arrayBuffer()))).toBe(0);
    expect(rowsOfMessages(await streamOf(file, 0, 10))).toBe(10);
  });

  test("a connection that is lost while a file is opened is an error of the network", async () => {
    const { port1, port2 } = new MessageChannel();
    serveFetch(async (_, { method }) => {
      const headers = { "content-length": "5000", etag: "e" };
      if (method === "HEAD") return new Response(null, { headers });
      const pull = (controller: ReadableStreamDefaultController) =>
        controller.error(new TypeError("terminated"));
      return new Response(new ReadableStream({ pull }), { status: 206 });
    }, port1);
    const url = "https://file.invalid/t.parquet";
    const remote = { url, credentials: "omit", fetch: port2 } as const;
    const opening = ParquetFile.open({ kind: "remote", ...remote, headers: [] }, compiled, NEVER);
    opening.catch(() => undefined);
    const response = await answerOf(opening)("https://file.invalid/v1/tables/t/rows", {});
    port1.close();
    expect(await response.json()).toMatchObject({ code: "network_error" });
  });

  test("a file that cannot be opened is the answer to each request", async () => {
    const opening = open(new TextEncoder().encode("this is not a Parquet file, but it is long"));
    const answer = answerOf(opening);
    for (const path of ["tables/t/rows", "query/q"]) {
      const response = await answer(`https://file.invalid/v1/${path}`, {});
      expect(response.status).toBe(422);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(await response.json()).toMatchObject({ code: expect.any(String) });
    }
  });
});

test.each([
  0, 1, 4, 7, 8, 11, 12, 100,
])("a file of %i other bytes is no Parquet file", async (size) => {
  const outcome = await inTime(outcomeOf(new Uint8Array(size)), `${size} bytes`);
  expect(outcome).toBeInstanceOf(ColonnadeError);
  expect(outcome).not.toMatchObject({ code: "reader_crashed" });
});

test("a footer that is longer than its file is an error", async () => {
  const bytes = new TextEncoder().encode("PAR1----PAR1") as Uint8Array<ArrayBuffer>;
  for (const length of [0, 1, 5, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
    new DataView(bytes.buffer).setUint32(4, length, true);
    const outcome = await inTime(outcomeOf(bytes), `a footer of ${length} bytes`);
    expect(outcome, `${length}`).toBeInstanceOf(ColonnadeError);
    expect(outcome).not.toMatchObject({ code: "reader_crashed" });
  }
});
