import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { PoolClient } from "../src/http/pool-client.js";
import { claimQuery } from "../src/http/query-request.js";
import type { StreamProgress } from "../src/model/progress.js";
import type { UrlSource } from "../src/model/wire-source.js";
import type { Notices } from "../src/rpc/messages.js";
import { BodyDecoder } from "../src/worker/body-decoder.js";
import { TableStream } from "../src/worker/table-stream.js";
import { pileUp } from "./pile-up.js";
import { seededRandom } from "./random.js";
import { type Fault, ReplayServer } from "./replay.js";

const wasm = readFileSync(new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url));
const PATIENCE = {
  stallMs: 60,
  firstWaitMs: 1,
  maxWaitMs: 8,
  giveUpMs: 20_000,
  firstPartRows: 10,
  partBytes: 2000,
};
const ROWS_PATH = "/v1/tables/numbered/rows";

let server: ReplayServer;
beforeEach(async () => {
  server = new ReplayServer();
  await server.listen();
});
afterEach(() => server.close());

function get(path: string): UrlSource {
  const url = `${server.origin}${path}`;
  return { kind: "url", url, method: "GET", headers: [], body: null, credentials: "same-origin" };
}

function post(json: string): UrlSource {
  const body = new TextEncoder().encode(json).buffer;
  const headers: [string, string][] = [["content-type", "application/json"]];
  return { ...get("/v1/query"), method: "POST", headers, body };
}

/** A stream whose end can be awaited, once and after each `resume`. */
class Reading {
  readonly notices: StreamProgress[] = [];
  readonly stream: TableStream;
  #ended: Promise<Notices["end"]>;
  #resolveEnd: (end: Notices["end"]) => void = () => undefined;

  constructor(source: UrlSource, patience = PATIENCE, pool = new PoolClient()) {
    this.#ended = this.#expectEnd();
    const notify = (name: keyof Notices, data: unknown) => {
      if (name === "end") this.#resolveEnd(data as Notices["end"]);
      else this.notices.push(data as StreamProgress);
    };
    this.stream = new TableStream(claimQuery(source), notify, patience, pool);
  }

  async end(): Promise<Notices["end"]> {
    await this.open();
    return this.#ended;
  }

  get ended(): Promise<Notices["end"]> {
    return this.#ended;
  }

  async open(memoryBytes = 2 ** 30): Promise<void> {
    const { memory } = await init({ module_or_path: wasm });
    await this.stream.open(Promise.resolve(new BodyDecoder(new Decoder(memoryBytes), memory)));
  }

  async resume(): Promise<Notices["end"]> {
    this.#ended = this.#expectEnd();
    await this.stream.resume();
    return this.#ended;
  }

  /** The texts of rows `[start, end)`. */
  texts(start: number, end: number): string {
    const packed = this.stream.decoder?.kernels.window(0, start, end, Uint32Array.of(0, 1, 2), 0);
    return Buffer.from(packed ?? []).toString("latin1");
  }

  #expectEnd(): Promise<Notices["end"]> {
    return new Promise((resolve) => {
      this.#resolveEnd = resolve;
    });
  }
}

/** The texts of rows `[0, 300)` as they arrive without a break. */
async function wholeTexts(): Promise<string> {
  const reading = new Reading(get(ROWS_PATH));
  expect(await reading.end()).toMatchObject({ state: "complete", rows: 300 });
  server.seen.length = 0;
  return reading.texts(0, 300);
}

// A browser drops unread bytes when the connection breaks. If a test needs to know how many rows
// arrived before, the server stalls instead.
const KINDS = ["fin", "short", "reset", "stall", "clean end", "restart"] as const;

afterEach(() => vi.restoreAllMocks());

test.each([
  "hold back",
  "pile up",
])("if bodies %s, random breaks of every kind neither lose nor duplicate a row", async (bodies) => {
  const whole = await wholeTexts();
  if (bodies === "pile up") pileUp();
  const numBytes = server.body(0).length;
  for (let seed = 1; seed <= 60; seed++) {
    const random = seededRandom(seed);
    server.faults = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, index): Fault => {
      const kind = KINDS[Math.floor(random() * KINDS.length)] ?? "fin";
      // Not the first response, because a refused first request is not repeated.
      if (index > 0 && random() < 0.2) {
        return { kind: "refuse", status: 503, code: "busy", retryAfterS: 0 };
      }
      return { kind, at: Math.floor(random() * random() * numBytes) };
    });
    // At most once, the bytes are damaged.
    if (random() < 0.5) {
      const kind = random() < 0.5 ? "garbage" : "flip";
      server.faults.push({ kind, at: Math.floor((0.3 + random() * 0.5) * numBytes) });
    }
    const faults = JSON.stringify(server.faults);
    const reading = new Reading(get(ROWS_PATH));
    const end = await reading.end();
    expect(end, `seed ${seed}: ${faults}`).toMatchObject({ state: "complete", rows: 300 });
    expect(reading.texts(0, 300) === whole, `seed ${seed}: ${faults}`).toBe(true);
  }
}, 120_000);

test.each([
  ["table", "partition"],
  ["table", "unordered"],
  ["statement", "unordered"],
])("bodies that pile up are left, and rows are read in parts (%s, %s)", async (what, order) => {
  const whole = await wholeTexts();
  server.order = order;
  pileUp();
  server.faults = [{ kind: "open end" }, { kind: "open end" }];
  const source = what === "table" ? get(`${ROWS_PATH}?limit=300`) : post('{"sql":"a","limit":300}');
  const reading = new Reading(source, { ...PATIENCE, stallMs: 10_000 });
  expect(await reading.end()).toMatchObject({ state: "complete", rows: 300 });
  expect(reading.texts(0, 300) === whole).toBe(true);
  expect(server.numBegun).toBe(1);
  const parts = server.seen.slice(1).map(({ params }) => params);
  expect(parts.length).toBeGreaterThan(5);
  for (const [index, { offset, limit }] of parts.entries()) {
    const next = Number(parts[index + 1]?.offset ?? 300);
    expect(next - Number(offset)).toBeGreaterThanOrEqual(Number(limit));
    expect(Number(limit)).toBeLessThan(100);
  }
  expect(reading.notices.every(({ isWaiting }) => !isWaiting)).toBe(true);
});

test("a broken stream resumes by the result's id, and reports that meanwhile", async () => {
  server.faults = [{ kind: "stall", at: 20_000 }];
  const reading = new Reading(get(`${ROWS_PATH}?offset=100&limit=150&columns=number%2Ctext`));
  const end = await reading.end();
  expect(end).toMatchObject({ state: "complete", rows: 150, interruption: undefined });
  const [first, second] = server.seen;
  const id = first?.params.id;
  expect(first).toMatchObject({
    path: ROWS_PATH,
    params: { offset: "100", limit: "150", columns: "number,text", linger_s: "60" },
  });
  expect(first?.params).not.toHaveProperty("checksum");
  const rows = Number(second?.params.offset) - 100;
  expect(second).toEqual({
    method: "GET",
    path: `/v1/query/${id}/rows`,
    params: {
      offset: String(100 + rows),
      limit: String(150 - rows),
      checksum: "xxh3",
      linger_s: "60",
    },
    body: "",
  });
  const interrupted = reading.notices.filter(({ interruption }) => interruption !== undefined);
  expect(interrupted[0]?.interruption).toMatchObject({ row: rows, attempt: 1 });
});

test("a break before the schema is not visible", async () => {
  for (const at of [0, 3, 100]) {
    server.faults = [{ kind: "fin", at }];
    const reading = new Reading(get(ROWS_PATH));
    expect(await reading.end()).toMatchObject({ state: "complete", rows: 300 });
  }
});

test("a server that has lost the result gets the original request again, unchanged", async () => {
  const sql = String.raw`select \"offset\": 7, 12345678901234567890 from t`;
  const json = `{"sql": "${sql}", "limit": 250, "batch_bytes": 10}`;
  server.faults = [{ kind: "restart", at: 20_000 }];
  const reading = new Reading(post(json));
  expect(await reading.end()).toMatchObject({ state: "complete", rows: 250 });
  const [first, byId, second] = server.seen;
  const { id, offset } = JSON.parse(second?.body ?? "");
  expect(byId?.path).toBe(`/v1/query/${id}/rows`);
  const head = `{"linger_s":60,"id":"${id}",`;
  expect(first?.body).toBe(json.replace("{", head));
  const limited = json.replace(`"limit": 250`, `"limit":${250 - offset}`);
  expect(offset).toBeGreaterThan(0);
  expect(second?.body).toBe(
    limited.replace("{", `{"checksum":"xxh3","offset":${offset},${head.slice(1)}`),
  );
});

test("a final refusal ends the stream with the server's message", async () => {
  for (const [status, code] of [
    [409, "source_changed"],
    [409, "not_repeatable"],
    [410, "rows_expired"],
    [401, "unauthorized"],
  ] as const) {
    server.seen.length = 0;
    server.faults = [
      { kind: "stall", at: 20_000 },
      { kind: "refuse", status, code },
    ];
    const end = await new Reading(get(ROWS_PATH)).end();
    expect(end).toMatchObject({
      state: "failed",
      canResume: false,
      error: { code, message: `refused: ${code}`, status, row: end.rows },
    });
    expect(end.rows).toBeGreaterThan(0);
    expect(server.seen).toHaveLength(2);
  }
});

test("a failed result is not requested again", async () => {
  for (const [record, code] of [
    [{ state: "failed", error: { code: "bad_csv", message: "line 7" } }, "bad_csv"],
  ] as const) {
    server.seen.length = 0;
    server.record = record;
    server.faults = [{ kind: "stall", at: 20_000 }];
    const end = await new Reading(get(ROWS_PATH)).end();
    expect(end).toMatchObject({ state: "failed", error: { code } });
    expect(server.seen).toHaveLength(1);
  }
});

test("damaged bytes are requested again once, and not a second time", async () => {
  const whole = await wholeTexts();
  const wrong: [Fault, string][] = [
    [{ kind: "flip", at: 20_000 }, "checksum_mismatch"],
    [{ kind: "shift", rows: -10 }, "row_overlap"],
    [{ kind: "shift", rows: 10 }, "row_gap"],
    [{ kind: "garbage", at: 0 }, "not_arrow"],
  ];
  for (const [fault, code] of wrong) {
    server.faults = [{ kind: "stall", at: 10_000 }, fault];
    const once = new Reading(get(ROWS_PATH));
    expect(await once.end()).toMatchObject({ state: "complete", rows: 300 });
    expect(once.texts(0, 300)).toBe(whole);

    server.faults = [{ kind: "stall", at: 10_000 }, fault, fault];
    const twice = new Reading(get(ROWS_PATH));
    const end = await twice.end();
    expect(end).toMatchObject({ state: "failed", canResume: true, error: { code } });
    expect(twice.texts(0, end.rows)).not.toBe("");
    // After a retry by the user, it continues.
    expect(await twice.resume()).toMatchObject({ state: "complete", rows: 300 });
    expect(twice.texts(0, 300)).toBe(whole);
  }
});

test("tries end after a while, and a later try continues from there", async () => {
  const whole = await wholeTexts();
  const { port } = server;
  server.faults = [{ kind: "stall", at: 20_000 }];
  const reading = new Reading(get(ROWS_PATH), { ...PATIENCE, giveUpMs: 300 });
  await reading.open();
  await server.close();
  await expect.poll(() => reading.notices.at(-1)?.interruption?.attempt).toBeGreaterThan(2);
  const end = await reading.ended;
  const message = `The connection was lost at row ${end.rows + 1} and not restored within 0 s.`;
  const error = { code: "network_error", message, row: end.rows };
  expect(end).toMatchObject({ state: "failed", canResume: true, error });
  server = new ReplayServer();
  await server.listen(port);
  expect(await reading.resume()).toMatchObject({ state: "complete", rows: 300 });
  expect(reading.texts(0, 300)).toBe(whole);
});

test("retryNow skips the wait", async () => {
  server.faults = [
    { kind: "stall", at: 20_000 },
    { kind: "refuse", status: 503, code: "busy", retryAfterS: 3600 },
  ];
  const reading = new Reading(get(ROWS_PATH), { ...PATIENCE, giveUpMs: 3_600_000 });
  const ended = reading.end();
  await expect.poll(() => reading.notices.at(-1)?.interruption?.attempt).toBe(2);
  reading.stream.retryNow();
  expect(await ended).toMatchObject({ state: "complete", rows: 300 });
});

test("retryNow starts the timeout anew", async () => {
  const { port } = server;
  server.faults = [{ kind: "stall", at: 20_000 }];
  const reading = new Reading(get(ROWS_PATH), { ...PATIENCE, giveUpMs: 300 });
  await reading.open();
  await server.close();
  await expect.poll(() => reading.notices.at(-1)?.interruption?.attempt).toBeGreaterThan(2);
  const waking = setInterval(() => reading.stream.retryNow(), 50);
  await new Promise((resolve) => setTimeout(resolve, 700));
  clearInterval(waking);
  server = new ReplayServer();
  await server.listen(port);
  expect(await reading.ended).toMatchObject({ state: "complete", rows: 300 });
});

test("time in which the page sleeps does not count, whatever it waited for", async () => {
  const busy = { kind: "refuse", status: 503, code: "busy" } as const;
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const random = seededRandom(seed);
    server.faults = [
      { kind: "stall", at: Math.floor(20_000 * random()) },
      ...Array.from({ length: 8 }, () => busy),
      { kind: "stall", at: 21_000 },
      busy,
    ];
    const reading = new Reading(get(ROWS_PATH), { ...PATIENCE, giveUpMs: 10_000 });
    // The clock goes on while the page sleeps, its timers do not.
    const now = performance.now.bind(performance);
    let asleepMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + asleepMs);
    const sleeping = setInterval(
      () => {
        asleepMs += 3_600_000;
      },
      1 + 20 * random(),
    );
    const end = await reading.end();
    clearInterval(sleeping);
    clock.mockRestore();
    expect(end, `seed ${seed}`).toMatchObject({ state: "complete", rows: 300 });
  }
});

test("a stop ends the tries", async () => {
  server.faults = Array.from({ length: 100 }, () => ({
    kind: "refuse" as const,
    status: 503,
    code: "busy",
  }));
  server.faults.unshift({ kind: "stall", at: 20_000 });
  const reading = new Reading(get(ROWS_PATH), { ...PATIENCE, maxWaitMs: 20_000 });
  const ended = reading.end();
  await expect.poll(() => server.seen.length).toBeGreaterThan(3);
  reading.stream.stop();
  expect(await ended).toMatchObject({ state: "cancelled" });
  const numRequests = server.seen.length;
  await server.close();
  expect(server.seen).toHaveLength(numRequests);
  await server.listen();
});

test("rows in no fixed order are never mixed with those of another run", async () => {
  server.order = "none";
  server.faults = [
    { kind: "stall", at: 20_000 },
    { kind: "refuse", status: 404, code: "unknown_query" },
  ];
  const end = await new Reading(get(ROWS_PATH)).end();
  expect(end).toMatchObject({ state: "failed", error: { code: "unknown_query" } });
  expect(server.seen).toHaveLength(2);
});

test("other addresses are never requested again", async () => {
  server.faults = [{ kind: "fin", at: 20_000 }];
  const end = await new Reading(get("/numbered.arrows?x=1")).end();
  expect(end).toMatchObject({
    state: "failed",
    canResume: false,
    error: { code: "network_error" },
  });
  expect(server.seen).toEqual([
    { method: "GET", path: "/numbered.arrows", params: { x: "1" }, body: "" },
  ]);
});

test("a stream that yields to others continues at the next row", async () => {
  const whole = await wholeTexts();
  server.faults = [{ kind: "stall", at: 20_000 }];
  const notices: Notices["slot"][] = [];
  const pool = new PoolClient((notice) => {
    notices.push(notice);
  });
  const reading = new Reading(get(ROWS_PATH), { ...PATIENCE, stallMs: 60_000 }, pool);
  await reading.open();
  await expect.poll(() => notices).toEqual([{ slot: 0, action: "allowYield" }]);
  pool.receive({ slot: 0, action: "yield" });
  const request = { slot: 1, action: "request", priority: "stream", hasRows: true };
  await expect.poll(() => notices.slice(1)).toEqual([{ slot: 0, action: "release" }, request]);
  await expect.poll(() => reading.notices.at(-1)).toMatchObject({ isWaiting: true });
  expect(server.seen).toHaveLength(1);
  pool.receive({ slot: 1, action: "grant" });
  expect(await reading.ended).toMatchObject({ state: "complete", rows: 300 });
  expect(reading.texts(0, 300) === whole).toBe(true);
  expect(reading.notices.every(({ interruption }) => interruption === undefined)).toBe(true);
  const [first, again] = server.seen;
  expect(again?.path).toBe(`/v1/query/${first?.params.id}/rows`);
  expect(Number(again?.params.offset)).toBeGreaterThan(0);
  expect(notices.at(-1)).toEqual({ slot: 1, action: "release" });
});

test("if another run could give other rows, a stream keeps its connection", async () => {
  server.order = "none";
  server.faults = [{ kind: "stall", at: 20_000 }];
  const notices: Notices["slot"][] = [];
  const pool = new PoolClient((notice) => {
    notices.push(notice);
  });
  const reading = new Reading(get(ROWS_PATH), { ...PATIENCE, stallMs: 1000 }, pool);
  await reading.open();
  pool.receive({ slot: 0, action: "yield" });
  expect(await reading.ended).toMatchObject({ state: "complete", rows: 300 });
  expect(notices).toEqual([{ slot: 0, action: "release" }]);
});

test("a stream without a connection releases its slot at once, and continues later", async () => {
  const whole = await wholeTexts();
  server.faults = [
    { kind: "reset", at: 20_000 },
    { kind: "refuse", status: 503, code: "busy", retryAfterS: 1 },
  ];
  const notices: Notices["slot"][] = [];
  const pool = new PoolClient((notice) => {
    notices.push(notice);
  });
  const reading = new Reading(get(ROWS_PATH), PATIENCE, pool);
  await reading.open();
  await expect.poll(() => server.faults).toEqual([]);
  pool.receive({ slot: 0, action: "yield" });
  expect(notices).toEqual([
    { slot: 0, action: "allowYield" },
    { slot: 0, action: "release" },
  ]);
  const options = { timeout: 5000 };
  await expect.poll(() => notices.at(-1), options).toMatchObject({ slot: 1, action: "request" });
  await expect.poll(() => reading.notices.at(-1)?.interruption).toBeUndefined();
  pool.receive({ slot: 1, action: "grant" });
  expect(await reading.ended).toMatchObject({ state: "complete", rows: 300 });
  expect(reading.texts(0, 300) === whole).toBe(true);
}, 20_000);

test("a stream resumed by the user allows yielding only if its rows can be requested later", async () => {
  for (const [order, hasRows] of [
    ["none", false],
    ["partition", true],
  ] as const) {
    server.order = order;
    server.faults = [
      { kind: "reset", at: 20_000 },
      ...Array.from({ length: 9 }, () => ({ kind: "refuse", status: 503, code: "busy" }) as const),
    ];
    const notices: Notices["slot"][] = [];
    const pool = new PoolClient((notice) => {
      notices.push(notice);
    });
    const patience = { ...PATIENCE, maxWaitMs: 1000, giveUpMs: 20 };
    const reading = new Reading(get(ROWS_PATH), patience, pool);
    expect(await reading.end()).toMatchObject({ state: "failed", canResume: true });
    void reading.stream.resume();
    expect(notices.at(-1)).toEqual({ slot: 1, action: "request", priority: "stream", hasRows });
    reading.stream.stop();
  }
});

test("a stream that waits 5 s for memory closes its connection, and continues with a larger budget", async () => {
  const whole = await wholeTexts();
  server.faults = [{ kind: "stall", at: 20_000 }];
  const notices: Notices["slot"][] = [];
  const pool = new PoolClient((notice) => {
    notices.push(notice);
  });
  const reading = new Reading(get(ROWS_PATH), PATIENCE, pool);
  await reading.open(100);
  await expect.poll(() => reading.notices.at(-1)?.pause?.code).toBe("memory_budget_exceeded");
  expect(notices).toEqual([]);
  const options = { timeout: 10_000 };
  await expect.poll(() => notices, options).toEqual([{ slot: 0, action: "release" }]);
  reading.stream.grow(2 ** 30);
  await expect.poll(() => notices.at(-1)).toMatchObject({ slot: 1, action: "request" });
  pool.receive({ slot: 1, action: "grant" });
  expect(await reading.ended).toMatchObject({ state: "complete", rows: 300 });
  expect(reading.texts(0, 300) === whole).toBe(true);
}, 20_000);
