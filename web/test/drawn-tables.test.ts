// Tables, users and faults are drawn, and every row that is read is compared with the file. The clock is the
// test's own, so that waits take no time. COLONNADE_TABLES says how many cases are drawn, and COLONNADE_SEED
// with which number they begin.

import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { MemoryShare, setPageMemory } from "../src/api/page-memory.js";
import { ConnectionPool } from "../src/http/connection-pool.js";
import { PoolClient } from "../src/http/pool-client.js";
import { PoolServer } from "../src/http/pool-server.js";
import { claimQuery } from "../src/http/query-request.js";
import { ColonnadeError } from "../src/model/errors.js";
import type { StreamProgress } from "../src/model/progress.js";
import { RowWindow } from "../src/model/row-window.js";
import type { UrlSource } from "../src/model/wire-source.js";
import type { Notices } from "../src/rpc/messages.js";
import { BodyDecoder } from "../src/worker/body-decoder.js";
import { RETRY_POLICY } from "../src/worker/reconnector.js";
import { TableStream } from "../src/worker/table-stream.js";
import { pileUp } from "./pile-up.js";
import { seededRandom } from "./random.js";
import { FAIR, SimulatedServer } from "./simulated-server.js";

const NUM_CASES = Number(process.env.COLONNADE_TABLES ?? (process.env.COLONNADE_FULL ? 2000 : 500));
const FIRST_SEED = Number(process.env.COLONNADE_SEED ?? 1);

const { memory } = await init({
  module_or_path: readFileSync(new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url)),
});
/** The texts of each row of the file, by another reader. */
const ROWS = [
  ...tableFromIPC(readFileSync(new URL("../../fixtures/numbered.arrows", import.meta.url))),
].map((row) => row.toArray().map((value: unknown) => (value === null ? "" : String(value))));
const COLUMNS = Uint32Array.of(0, 1, 2);
const NEVER = new AbortController().signal;
const POLICY = { ...RETRY_POLICY, firstPartRows: 10, partBytes: 2000 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  vi.setTimerTickMode("nextTimerAsync");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const realTimeout = globalThis.setTimeout;
/** Rejects after a time of the machine's own clock, because a case that waits for nothing would never end. */
const hangs = () =>
  new Promise<never>((_, reject) =>
    realTimeout(() => reject(new Error("it hangs")), 60_000).unref(),
  );

type Random = () => number;
const wholeIn = (random: Random, end: number) => Math.floor(random() * end);
const pick = <T>(random: Random, ...items: T[]): T => items[wholeIn(random, items.length)] as T;
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.ceil(ms)));

/** A table of the worker, with what the page knows of it. */
class DrawnTable {
  readonly stream: TableStream;
  readonly pool: PoolServer;
  readonly share: MemoryShare;
  readonly decoder: BodyDecoder;
  /** The rows that the table has. */
  readonly rows: string[][];
  progress: StreamProgress | undefined;
  end: Notices["end"] | undefined;

  constructor(random: Random, pool: ConnectionPool, memoryBytes: number) {
    this.share = new MemoryShare(memoryBytes);
    const firstRow = random() < 0.3 ? wholeIn(random, 20) * 10 : 0;
    const limit = random() < 0.3 ? 10 * (1 + wholeIn(random, 30)) : undefined;
    this.rows = ROWS.slice(firstRow, limit === undefined ? undefined : firstRow + limit);
    const range = { ...(firstRow > 0 && { offset: firstRow }), ...(limit && { limit }) };
    const client = new PoolClient((notice) => setTimeout(() => this.pool.receive(notice), 0));
    this.pool = new PoolServer(pool, (message) => setTimeout(() => client.receive(message), 0));
    const notify = (name: keyof Notices, data: unknown) => {
      if (name === "end") this.end = data as Notices["end"];
      else if (name === "progress") this.progress = data as StreamProgress;
      else if (name === "memory") this.#onMemory(data as Notices["memory"]);
    };
    const source = random() < 0.3 ? statement(range) : table(range);
    this.stream = new TableStream(claimQuery(source), notify, POLICY, client);
    this.decoder = new BodyDecoder(new Decoder(this.share.bytes), memory);
  }

  #onMemory({ wantedBytes, isAll }: Notices["memory"]): void {
    if (isAll) this.share.trim(wantedBytes);
    else setTimeout(() => this.stream.grow(this.share.grow(wantedBytes)), 1);
  }

  async open(): Promise<void> {
    await this.pool.requestFirst(undefined);
    await this.stream.open(Promise.resolve(this.decoder), undefined, this.share.bytes);
  }

  get numRows(): number {
    return this.stream.windowed?.progress.rows ?? this.decoder.numRows;
  }

  /** Reads rows as the grid does, and compares them with the file. */
  async read(start: number, end: number): Promise<void> {
    const { stream } = this;
    const packed = await stream.rows?.window(0, start, end, COLUMNS, 0, NEVER);
    if (packed === undefined) return;
    const window = new RowWindow(packed, start, end, COLUMNS.length);
    for (let row = start; row < end; row++) {
      const texts = [...COLUMNS].map((_, column) => window.text(row, column));
      expect(texts, `row ${row}`).toEqual(this.rows[row]);
    }
  }

  close(): void {
    this.stream.stop();
    this.pool.close();
    this.share.close();
    this.decoder.free();
  }
}

function table(range: Record<string, unknown>): UrlSource {
  const parameters = new URLSearchParams(range as Record<string, string>);
  const url = `http://data.example/v1/tables/numbered/rows?${parameters}`;
  return { kind: "url", url, method: "GET", headers: [], body: null, credentials: "same-origin" };
}

function statement(range: Record<string, unknown>): UrlSource {
  const body = new TextEncoder().encode(JSON.stringify({ sql: "…", ...range })).buffer;
  const headers: [string, string][] = [["content-type", "application/json"]];
  const url = "http://data.example/v1/query";
  return { kind: "url", url, method: "POST", headers, body, credentials: "same-origin" };
}

/** What a user of a table does, at any time: jumps, retries, waits. */
async function use(
  table: DrawnTable,
  random: Random,
  isFair: () => boolean,
  hide: () => void,
): Promise<void> {
  for (let step = wholeIn(random, 8); step > 0; step--) {
    await sleep(random() ** 3 * 60_000);
    const { end, numRows } = table;
    if (end?.state === "failed" && end.canResume) {
      table.end = undefined;
      void table.stream.resume();
    } else if (random() < 0.2) {
      table.stream.retryNow();
    } else if (random() < 0.1) {
      hide();
    } else if (numRows > 0) {
      const start = wholeIn(random, numRows);
      const last = Math.min(numRows, start + 1 + wholeIn(random, 60));
      await table.read(start, last).catch((thrown) => {
        const { code } = ColonnadeError.from(thrown, "");
        if (isFair() || !ALLOWED.has(code)) throw thrown;
      });
    }
  }
}

/** The errors of reads while there is bad weather. */
const ALLOWED = new Set(["network_error", "busy", "unknown_query"]);

/** One case: one to three tables on few connections, whose server fails for a while. */
async function drawCase(seed: number): Promise<void> {
  const random = seededRandom(seed);
  vi.spyOn(Math, "random").mockImplementation(random);
  const order = random() < 0.8 ? "partition" : "none";
  const holdsBack = random() < 0.6;
  if (!holdsBack) pileUp();
  const server = new SimulatedServer(random, order, holdsBack);
  vi.stubGlobal("fetch", server.fetch);
  const badness = pick(random, 0, 0.05, 0.2);
  server.weather = {
    unreachable: badness * random(),
    refused: badness * random(),
    cut: badness * random(),
    ended: badness * random(),
    stalled: badness * random(),
    openEnd: badness * random(),
    restarted: order === "none" ? 0 : badness * random(),
    delayMs: pick(random, 1, 30, 2000),
  };
  const limits = { streams: 1 + wholeIn(random, 3), others: 1 + wholeIn(random, 2) };
  const pool = new ConnectionPool(() => limits);
  // The least of a table is enough for blocks of whole batches.
  setPageMemory(pick(random, undefined, 2 ** 19, 320_000));
  const tables = Array.from({ length: 1 + wholeIn(random, 3) }, () => {
    return new DrawnTable(random, pool, pick(random, 2 ** 20, 2 ** 20, 8000, 10_000));
  });
  /** The page is hidden for a while, and leaves its connections to other pages. */
  const hide = () => {
    const { streams } = limits;
    limits.streams = 1;
    pool.dispatch();
    setTimeout(() => {
      limits.streams = Math.max(limits.streams, streams);
      pool.dispatch();
    }, 10_000);
  };
  let isFair = badness === 0;
  const using = tables.map(async (table) => {
    await sleep(random() * 1000);
    try {
      await table.open();
    } catch (thrown) {
      // A first request that fails is not repeated.
      const { code } = ColonnadeError.from(thrown, "");
      if (isFair || !ALLOWED.has(code)) throw thrown;
      return table.pool.close();
    }
    await use(table, random, () => isFair, hide);
  });
  await Promise.all(using);
  server.weather = { ...FAIR, delayMs: server.weather.delayMs };
  isFair = true;
  for (const table of tables) {
    if (table.decoder.schema === undefined) continue;
    for (let step = 0; table.end?.state !== "complete" && table.end?.state !== "windowed"; step++) {
      if (step > 1000) throw new Error(`no end: ${JSON.stringify(table.progress)}`);
      if (table.end?.state === "failed") {
        expect(table.end).toMatchObject({ canResume: true });
        table.end = undefined;
        await table.stream.resume();
      }
      await sleep(1000);
    }
    for (let start = 0; start < table.rows.length; ) {
      const end = Math.min(table.rows.length, start + 1 + wholeIn(random, 60));
      await table.read(start, end);
      start = end;
    }
    const numRows = await table.stream.windowed?.reach(1000, NEVER);
    expect(numRows ?? table.decoder.numRows).toBe(table.rows.length);
  }
  await sleep(1000);
  expect(server.numOpen, "open connections").toBe(0);
  for (const table of tables) table.close();
  expect(server.wrongs).toEqual([]);
}

test(`${NUM_CASES} drawn cases show each row once, as it is`, async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + NUM_CASES; seed++) {
    try {
      await Promise.race([drawCase(seed), hangs()]);
    } catch (thrown) {
      throw new Error(`COLONNADE_SEED=${seed} COLONNADE_TABLES=1: ${thrown}`, { cause: thrown });
    } finally {
      vi.clearAllTimers();
      vi.restoreAllMocks();
    }
  }
}, 3_600_000);
