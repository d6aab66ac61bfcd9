import { expect, test, vi } from "vitest";
import {
  CSV_PRESETS,
  type CsvOptions,
  csvParameters,
  loadCsvOptions,
  PLAIN_CSV,
  presetOf,
  storeCsvOptions,
} from "../src/files/csv-options.js";
import { EXPORT_FORMATS, Export, exportName } from "../src/files/export.js";
import { detectFileType } from "../src/files/file-type.js";
import { IncomingFile } from "../src/files/incoming-file.js";
import { checkName, proposeName } from "../src/files/table-name.js";
import {
  optionsQuery,
  optionsText,
  parseOptions,
  trimList,
  withOption,
} from "../src/files/text-options.js";
import { Tray } from "../src/files/tray.js";
import { errorFromResponse, errorText } from "../src/server/response-error.js";
import { Session } from "../src/server/session.js";

const bytes = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const utf8 = (text: string) => new TextEncoder().encode(text);

test.each([
  ["a.arrow", bytes("ARROW1\0\0"), "arrow"],
  ["wrongly-named.csv", bytes("ARROW1\0\0"), "arrow"],
  ["a.bin", bytes("\xff\xff\xff\xff\x10\x01\0\0"), "arrow"],
  ["before-0.15.arrows", bytes("\x10\x01\0\0\x10\0\0\0"), "arrow"],
  ["a.parquet", bytes("PAR1\x15\x04"), "parquet"],
  ["no-extension", bytes("PAR1\x15\x04"), "parquet"],
  ["a.csv", utf8("a,b\n1,2\n"), "csv"],
  ["one-column.csv", utf8("a\n1\n"), "csv"],
  ["objects.csv", utf8('{"a": 1}\n'), "csv"],
  ["a.csv.gz", bytes("\x1f\x8b\x08"), "csv"],
  ["a.ndjson.zst", bytes("\x28\xb5\x2f\xfd"), "ndjson"],
  ["a.tsv", utf8("a\tb\n"), "tsv"],
  ["a.txt", utf8("a\tb\n1\t2\n"), "tsv"],
  ["a.log", utf8("ä,b\n1,2\n"), "csv"],
  ["a.jsonl", utf8('{"a": 1}\n{"a": 2}\n'), "ndjson"],
  ["a.json", utf8('{"a": 1}\n{"a": 2}\n'), "ndjson"],
  ["a.ndjson", utf8(`{"a": "${"x".repeat(5000)}`).subarray(0, 4096), "ndjson"],
  ["cut.csv", utf8("a,ü").subarray(0, 3), "csv"],
  ["a.json", utf8('[{"a": 1}]'), "json"],
  ["a.json", utf8('\ufeff[\n  {\n    "a": 1'), "json"],
  ["no-extension", utf8('[{"a": 1}]'), "json"],
  ["array.ndjson", utf8('[{"a": 1}]'), "json"],
  ["a.json.gz", bytes("\x1f\x8b\x08"), "json"],
  ["objects.csv", utf8('[{"a": 1}]\n'), "csv"],
  ["latin-1.csv", bytes("a;b\n\xe4;1\n"), "csv"],
  ["latin-1.txt", bytes("a\tb\n\xe4\t1\n"), "tsv"],
  ["latin-1.json", bytes('[{"a": "\xe4"}]'), "json"],
  ["utf-16.csv", bytes("\xff\xfea\0,\0"), "csv"],
  ["utf-16.txt", bytes("\xfe\xff\0a\0\t\0b\0\n\x001\0\t\x002"), "tsv"],
  ["utf-16-without-mark.csv", bytes("a\0,\0b\0\n\0"), "csv"],
])("%s is detected", (name, head, fileType) => {
  expect(detectFileType(name, head)).toMatchObject({ fileType });
});

test.each([
  ["empty.csv", bytes(""), "is empty"],
  ["a.xlsx", bytes("PK\x03\x04"), "workbook"],
  ["a.zip", bytes("PK\x03\x04"), "Unpack"],
  ["a.parquet.gz", bytes("\x1f\x8b\x08"), "compressed as a whole"],
  ["a.feather", bytes("FEA1"), "version 2"],
  ["a.db", bytes("SQLite format 3\0"), "SQLite"],
  ["a.duckdb", bytes("12345678DUCK"), "DuckDB"],
  ["a.json", utf8("[1, 2]"), "array of objects"],
  ["a.json", utf8('"text"'), "Arrow (.arrow"],
  ["latin-1.bin", bytes("a,b\n\xe4,1\n"), "Arrow (.arrow"],
  ["a.json", utf8('{\n  "a": 1\n}'), "one object per line"],
  ["a.html", utf8("<!doctype html><p>hello, there</p>\n"), "Arrow (.arrow"],
  ["a.png", bytes("\x89PNG\r\n\x1a\n\0\0"), "Arrow (.arrow"],
])("%s is refused with a reason", (name, head, why) => {
  const { refusal } = detectFileType(name, head) as { refusal: string };
  expect(refusal).toContain(`“${name}”`);
  expect(refusal).toContain(why);
});

test("options are sent as typed, but for spaces around commas", () => {
  expect(optionsQuery({})).toBe("");
  const options = { delimiter: "\t", quote: "", decimal: "," } as const;
  expect(optionsQuery(options)).toBe("?delimiter=%09&quote=&decimal=%2C");
  expect(parseOptions(optionsQuery(options))).toEqual(options);
  expect(optionsText(options)).toBe("delimiter=tab quote= decimal=,");
  expect(withOption(options, "quote", undefined)).toEqual({ delimiter: "\t", decimal: "," });
  expect(withOption(options, "quote", "'")).toEqual({ ...options, quote: "'" });
  expect(trimList("NA,  n/a ,")).toBe("NA,n/a,");
  const types = "a b : text, p:decimal(12, 2), t:timestamp(us, UTC)";
  expect(trimList(types)).toBe("a b : text,p:decimal(12, 2),t:timestamp(us, UTC)");
});

const tables = [
  { name: "flights", uploaded: false },
  { name: "trips", uploaded: true },
];

test.each([
  ["trips.csv", "trips"],
  ["trips-2024 (final).csv.gz", "trips_2024_final"],
  ["2024.parquet", "t_2024"],
  ["flights.parquet", "flights_2"],
  ["Größe.ndjson", "Größe"],
  [".csv", "csv"],
  ["…", "table"],
  [`${"x".repeat(300)}.csv`, "x".repeat(124)],
])("the proposed table name for %s is %s", (fileName, name) => {
  expect(proposeName(fileName, tables)).toBe(name);
  expect(checkName(name, tables).is).not.toBe("wrong");
});

test("files that are added together get different names", () => {
  expect(proposeName("a.csv", tables, ["a", "a_2"])).toBe("a_3");
  expect(checkName("a", tables, ["a"])).toMatchObject({ is: "wrong" });
});

test("a name is free, belongs to an upload, or is invalid", () => {
  expect(checkName("new", tables)).toEqual({ is: "free" });
  expect(checkName("trips", tables)).toEqual({ is: "uploaded" });
  for (const name of ["flights", "", " ", "a/b", "a\nb", "ä".repeat(129)]) {
    expect(checkName(name, tables), name).toMatchObject({ is: "wrong" });
  }
});

test("a table that was uploaded meanwhile is not replaced without confirmation", async () => {
  const fetched = vi.fn(async () => Response.json({ writable: true, tables }));
  const sent = vi.fn();
  vi.stubGlobal("fetch", fetched);
  vi.stubGlobal("XMLHttpRequest", sent);
  const tray = new Tray();
  const file = new File(["a\n1\n"], "trips.csv");
  const incoming = new IncomingFile(
    file,
    { fileType: "csv", state: { is: "named" } },
    () => undefined,
  );
  incoming.name = "trips";
  tray.incoming = [incoming];
  tray.server = { writable: true, max_upload_bytes: null, tables: [] };
  expect(incoming.isReady(tray.server, tray.incoming)).toBe(true);
  await tray.send(incoming);
  expect(fetched).toHaveBeenCalledOnce();
  expect(sent).not.toHaveBeenCalled();
  expect(incoming.state).toEqual({ is: "named" });
  expect(incoming.isReady(tray.server, tray.incoming)).toBe(false);
  vi.unstubAllGlobals();
});

test("an export continues after the server did not respond for a while", async () => {
  vi.useFakeTimers();
  const running = { rows: 9, error: null, export: { rows: 1, bytes: 10, state: "running" } };
  const done = { ...running, export: { rows: 9, bytes: 90, state: "done" } };
  const answers = [
    () => new Response("", { headers: { "x-query-id": "an-id" } }),
    () => Response.json(running),
    () => Promise.reject(new TypeError("Failed to fetch")),
    () => new Response("busy", { status: 503 }),
    () => Response.json(done),
  ];
  vi.stubGlobal("fetch", async () => answers.shift()?.());
  vi.stubGlobal("document", { createElement: () => ({ click: () => undefined }) });
  const run = async () => {
    const request = new Request("http://h/v1/query", { method: "POST", body: '{"table":"t"}' });
    const [, format = { id: "csv", label: "CSV", about: "" }] = EXPORT_FORMATS;
    const options = {
      rows: request,
      format,
      name: "t",
      csv: PLAIN_CSV,
      totalRows: undefined,
    };
    const item = new Export(options, () => undefined);
    const ended = item.run();
    await vi.advanceTimersByTimeAsync(40_000);
    await ended;
    return item.state;
  };
  expect(await run()).toEqual({ is: "done", rows: 9, bytes: 90 });
  answers.push(() => new Response("", { headers: { "x-query-id": "an-id" } }));
  for (let n = 0; n < 100; n++) answers.push(() => new Response("busy", { status: 503 }));
  expect(await run()).toMatchObject({ is: "failed", error: { status: 503 } });
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("an export sends the options of CSV that differ from the server's defaults", () => {
  expect(csvParameters(PLAIN_CSV)).toEqual({});
  const europe = { ...PLAIN_CSV, ...CSV_PRESETS.at(-1)?.options };
  expect(csvParameters(europe)).toEqual({ delimiter: ";", decimal: ",", bom: "true" });
  expect(csvParameters({ ...PLAIN_CSV, delimiter: "tab", escapesFormulas: true })).toEqual({
    delimiter: "tab",
    escape_formulas: "true",
  });
  expect(presetOf({ ...europe, escapesFormulas: true })).toBe(CSV_PRESETS.at(-1));
  expect(presetOf(PLAIN_CSV)).toBe(CSV_PRESETS[0]);
  expect(presetOf({ ...europe, delimiter: "," })).toBeUndefined();
});

test("the options of CSV are stored, and wrong ones are the server's defaults", () => {
  let item: string | null = null;
  vi.stubGlobal("localStorage", {
    getItem: () => item,
    setItem: (_: string, text: string) => {
      item = text;
    },
  });
  expect(loadCsvOptions()).toEqual(PLAIN_CSV);
  const chosen: CsvOptions = { delimiter: "tab", decimal: ",", bom: true, escapesFormulas: true };
  storeCsvOptions(chosen);
  expect(loadCsvOptions()).toEqual(chosen);
  for (const wrong of ['{"delimiter":"|","decimal":7,"bom":"no"}', "7", "{"]) {
    item = wrong;
    expect(loadCsvOptions()).toEqual(PLAIN_CSV);
  }
  vi.unstubAllGlobals();
});

test("the session has no token once the server does not require one", async () => {
  vi.stubGlobal("localStorage", {
    getItem: () => "1",
    setItem: () => undefined,
    removeItem: () => undefined,
  });
  const session = new Session();
  for (const [status, hasToken] of [
    [401, true],
    [200, false],
  ] as const) {
    vi.stubGlobal("fetch", async () => new Response(null, { status }));
    await session.verify();
    expect(session.hasToken).toBe(hasToken);
  }
  vi.unstubAllGlobals();
});

test("an exported file is named after the table, or the time for a statement", () => {
  const now = new Date(2026, 0, 2, 3, 4, 5);
  expect(exportName("lineitem", false, now)).toBe("lineitem");
  expect(exportName("a/b:c", true, now)).toBe("a_b_c-filtered");
  expect(exportName(undefined, true, now)).toBe("query-20260102-030405");
});

test("the server's errors are shown as sentences", () => {
  const body = JSON.stringify({ code: "bad_upload", detail: "line 3 is cut", hint: "send it" });
  const error = errorFromResponse(400, body);
  expect(error).toMatchObject({ code: "bad_upload", status: 400 });
  expect(errorText(error)).toBe("Line 3 is cut. Send it.");
  expect(errorFromResponse(502, "<html>")).toMatchObject({ message: "The server answered 502." });
});
