import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { PoolClient } from "../src/http/pool-client.js";
import { claimQuery } from "../src/http/query-request.js";
import type { StreamProgress } from "../src/model/progress.js";
import type { UrlSource } from "../src/model/wire-source.js";
import type { KernelWork, Notices } from "../src/rpc/messages.js";
import { BodyDecoder } from "../src/worker/body-decoder.js";
import { TableStream } from "../src/worker/table-stream.js";
import type { WindowedTable } from "../src/worker/windowed-table.js";
import { seededRandom } from "./random.js";
import { type Fault, ReplayServer } from "./replay.js";

const wasm = readFileSync(new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url));
/** Long enough that a busy machine does not count as a stall. */
const PATIENCE = {
  stallMs: 10_000,
  firstWaitMs: 1,
  maxWaitMs: 8,
  giveUpMs: 300,
  firstPartRows: 10,
  partBytes: 2000,
};
const COLUMNS = Uint32Array.of(0, 1, 2);
const NEVER = new AbortController().signal;
/** Less than half of the rows fit. */
const MEMORY_BYTES = 6000;

let server: ReplayServer;
let opened: TableStream[] = [];
beforeEach(async () => {
  opened = [];
  server = new ReplayServer();
  server.record = { state: "running", rows: 300, rows_ready: 100 };
  await server.listen();
});
afterEach(async () => {
  for (const stream of opened) stream.stop();
  vi.unstubAllGlobals();
  await server.close();
});

/** Opens the numbered table with a budget; resolves with its stream and how it ended. */
async function read(
  path: string,
  memoryBytes: number,
  patience = PATIENCE,
  pool = new PoolClient(),
) {
  const url = `${server.origin}${path}`;
  const source: UrlSource = {
    kind: "url",
    url,
    method: "GET",
    headers: [],
    body: null,
    credentials: "same-origin",
  };
  const notices: StreamProgress[] = [];
  let resolveEnd: (end: Notices["end"]) => void = () => undefined;
  const ended = new Promise<Notices["end"]>((resolve) => {
    resolveEnd = resolve;
  });
  const notify = (name: keyof Notices, data: unknown) => {
    if (name === "end") resolveEnd(data as Notices["end"]);
    else notices.push(data as StreamProgress);
  };
  const stream = new TableStream(claimQuery(source), notify, patience, pool);
  opened.push(stream);
  const { memory } = await init({ module_or_path: wasm });
  await stream.open(Promise.resolve(new BodyDecoder(new Decoder(memoryBytes), memory)));
  return { stream, notices, end: await ended };
}

async function windowed(path = "/v1/tables/numbered/rows", patience = PATIENCE) {
  const { stream, notices, end } = await read(path, MEMORY_BYTES, patience);
  expect(end.state).toBe("windowed");
  return { rows: stream.windowed as WindowedTable, stream, notices, end };
}

function textOf(packed: Uint8Array | undefined): string {
  return Buffer.from(packed ?? []).toString("latin1");
}

async function texts(rows: WindowedTable, start: number, end: number): Promise<string> {
  return textOf(await rows.window(0, start, end, COLUMNS, 0, NEVER));
}

/** The texts of rows of the same table with a budget that fits everything. */
async function expectedTexts(): Promise<(start: number, end: number) => string> {
  const { stream, end } = await read("/v1/tables/numbered/rows", 2 ** 30);
  expect(end).toMatchObject({ state: "complete", rows: 300 });
  server.seen.length = 0;
  return (start, end) => textOf(stream.decoder?.kernels.window(0, start, end, COLUMNS, 0));
}

test("a table larger than its budget has all its rows, at any position", async () => {
  const expected = await expectedTexts();
  const { rows, end } = await windowed();
  expect(end).toMatchObject({ rows: 300, totalRows: 300 });
  expect(await texts(rows, 0, 300)).toBe(expected(0, 300));
  for (let seed = 1; seed <= 3; seed++) {
    const random = seededRandom(seed);
    for (let step = 0; step < 8; step++) {
      const start = Math.floor(random() * 301);
      const endRow = start + Math.floor(random() * (301 - start));
      const got = await texts(rows, start, endRow);
      expect(got, `seed ${seed}: rows ${start} to ${endRow}`).toBe(expected(start, endRow));
    }
  }
  const values = await rows.values(0, 0, 95, 300, NEVER);
  if (values.kind !== "i64") throw new Error(`integers came as ${values.kind}`);
  const numbers = [...new BigInt64Array(values.bytes.buffer)].map(Number);
  expect(numbers).toEqual(Array.from({ length: 205 }, (_, row) => row + 95));
  expect(values.validity).toHaveLength(205);
  const whole = await rows.window(0, 0, 300, Uint32Array.of(1), 0, NEVER);
  expect(await rows.values(0, 1, 0, 300, NEVER)).toEqual({ kind: "texts", texts: whole });
}, 60_000);

test("the first rows stay, and blocks are requested by number", async () => {
  const { rows } = await windowed();
  server.seen.length = 0;
  await texts(rows, 0, 20);
  expect(server.seen).toEqual([]);
  await texts(rows, 290, 291);
  expect(server.seen).toHaveLength(1);
  const { path, params } = server.seen[0] ?? { path: "", params: {} };
  expect(path).toMatch(/^\/v1\/query\/[^/]+\/rows$/);
  expect(params).toMatchObject({ offset: "290", limit: "10" });
  await texts(rows, 290, 291);
  expect(server.seen).toHaveLength(1);
});

test("broken connections neither lose, duplicate nor mix rows of a block", async () => {
  const expected = await expectedTexts();
  const kinds = ["fin", "short", "reset", "stall", "clean end", "restart"] as const;
  for (let seed = 1; seed <= 10; seed++) {
    const random = seededRandom(seed);
    const { rows, stream } = await windowed("/v1/tables/numbered/rows", {
      ...PATIENCE,
      stallMs: 60,
      giveUpMs: 20_000,
    });
    server.faults = Array.from({ length: 12 }, (): Fault => {
      const kind = kinds[Math.floor(random() * kinds.length)] ?? "fin";
      return { kind, at: Math.floor(random() * 3000) };
    });
    expect(await texts(rows, 0, 300), `seed ${seed}`).toBe(expected(0, 300));
    server.faults = [];
    stream.stop();
  }
}, 60_000);

test("a read that its caller ends is not an interruption", async () => {
  const { rows, notices } = await windowed();
  for (let turns = 0; turns < 12; turns++) {
    const abort = new AbortController();
    const read = rows.window(0, 200, 210, COLUMNS, 0, abort.signal);
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    abort.abort();
    await read.catch(({ code }) => expect(code).toBe("cancelled"));
  }
  await texts(rows, 200, 210);
  expect(notices.filter(({ interruption }) => interruption !== undefined)).toEqual([]);
});

test("a refusal is an error of those rows, and another read tries again", async () => {
  const expected = await expectedTexts();
  const { rows } = await windowed();
  for (const [status, code, start] of [
    [409, "source_changed", 290],
    [410, "rows_expired", 200],
  ] as const) {
    const refusal: Fault = { kind: "refuse", status, code };
    server.faults = [refusal, refusal];
    await expect(texts(rows, start, start + 10)).rejects.toMatchObject({ code, row: start });
    expect(await texts(rows, 0, 10)).toBe(expected(0, 10));
    server.faults = [];
    expect(await texts(rows, start, start + 10)).toBe(expected(start, start + 10));
  }
});

test("rows of another position are refused", async () => {
  const { rows } = await windowed();
  server.faults = Array.from({ length: 4 }, () => ({ kind: "shift", rows: -10 }) as const);
  await expect(texts(rows, 290, 300)).rejects.toMatchObject({ code: "row_overlap" });
});

test("an unreachable server is an error, and a later read tries again", async () => {
  const expected = await expectedTexts();
  const { rows, notices } = await windowed();
  const { port } = server;
  await server.close();
  await expect(texts(rows, 290, 300)).rejects.toMatchObject({ code: "network_error", row: 290 });
  expect(notices.some(({ interruption }) => (interruption?.row ?? 0) >= 290)).toBe(true);
  expect(rows.progress.interruption).toBeUndefined();
  server = new ReplayServer();
  await server.listen(port);
  expect(await texts(rows, 290, 300)).toBe(expected(290, 300));
});

test("if the total is unknown, rows are found when they are requested", async () => {
  const expected = await expectedTexts();
  server.record = { state: "running", rows: null, rows_ready: 150 };
  const { rows, end } = await windowed();
  expect(end.rows).toBe(150);
  expect(end.totalRows).toBeUndefined();
  expect(await rows.reach(200, NEVER)).toBeGreaterThanOrEqual(200);
  expect(rows.progress.totalRows).toBeUndefined();
  expect(await texts(rows, 155, 200)).toBe(expected(155, 200));
  server.record = { state: "done", rows: 300, rows_ready: 300 };
  expect(await rows.reach(5000, NEVER)).toBe(300);
  expect(rows.progress).toMatchObject({ rows: 300, totalRows: 300 });
  expect(await texts(rows, 0, 300)).toBe(expected(0, 300));
});

test("a range of a result is a table of its own", async () => {
  const expected = await expectedTexts();
  const { rows, end } = await windowed("/v1/tables/numbered/rows?offset=50&limit=200");
  expect(end).toMatchObject({ rows: 200, totalRows: 200 });
  expect(await texts(rows, 0, 200)).toBe(expected(50, 250));
});

test("a result that the server lost is restarted as a whole", async () => {
  const expected = await expectedTexts();
  const { rows } = await windowed();
  server.record = undefined;
  expect(await texts(rows, 290, 300)).toBe(expected(290, 300));
  const [again] = server.seen.filter(({ path }) => path === "/v1/tables/numbered/rows").slice(1);
  expect(again?.params).not.toHaveProperty("limit");
  server.order = "none";
  const { rows: unordered } = await windowed();
  server.record = undefined;
  await expect(texts(unordered, 290, 300)).rejects.toMatchObject({ code: "unknown_query" });
});

test("work that needs all rows is refused with a hint", async () => {
  const { rows } = await windowed();
  const sort = { kind: "sort", view: 0, keys: [{ column: "id" }] } as const;
  const work = rows.run({ ...sort, keys: [...sort.keys] }, NEVER, () => undefined);
  await expect(work).rejects.toMatchObject({ code: "windowed" });
});

test("a summary yields to a search, and is requested again", async () => {
  const notices: Notices["slot"][] = [];
  const pool = new PoolClient((notice) => {
    notices.push(notice);
    if (notice.action === "request") pool.receive({ slot: notice.slot, action: "grant" });
  });
  const { stream } = await read("/v1/tables/numbered/rows", MEMORY_BYTES, PATIENCE, pool);
  const { fetch } = globalThis;
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string, { signal }: { signal: AbortSignal }) => {
    if (!/\/(?:summary|find)\?/.test(url)) return fetch(url, { signal });
    asked.push(url.replace(/.*\/|\?.*/g, ""));
    if (asked.length > 1) return new Response('{"matches":[],"next":null,"searched":300}');
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  });
  notices.length = 0;
  const run = (work: KernelWork) => stream.windowed?.run(work, NEVER, () => undefined);
  const summary = run({ kind: "summary", column: "id", maxCounted: 9, view: 0 });
  await expect.poll(() => asked).toEqual(["summary"]);
  const [{ slot = 0, ...request } = {}] = notices;
  expect(request).toEqual({ action: "request", priority: "question", hasRows: true });
  const options = { text: "x", from: 0, limit: 9, columns: undefined, matchCase: false };
  await run({ kind: "find", view: 0, find: options });
  expect(notices[1]).toMatchObject({ action: "request", priority: "question", hasRows: false });
  pool.receive({ slot, action: "yield" });
  expect(await summary).toContain("searched");
  expect(asked).toEqual(["summary", "find", "summary"]);
  expect(notices).toContainEqual({ slot, action: "release" });
});
