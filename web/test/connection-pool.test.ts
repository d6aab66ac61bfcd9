import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConnectionLimits } from "../src/http/connection-limits.js";
import { ConnectionPool, type ConnectionSlot } from "../src/http/connection-pool.js";
import type { SlotPriority } from "../src/rpc/messages.js";

let limits: ConnectionLimits;
let pool: ConnectionPool;
/** Calls in order: `go a`, `yield a`. */
let calls: string[];

beforeEach(() => {
  vi.useFakeTimers();
  limits = { streams: 4, others: 2 };
  pool = new ConnectionPool(() => limits);
  calls = [];
});
afterEach(() => vi.useRealTimers());

function request(
  name: string,
  { priority = "stream" as SlotPriority, hasRows = false } = {},
): ConnectionSlot {
  return pool.request({
    priority,
    hasRows,
    onGrant: () => calls.push(`go ${name}`),
    onYield: () => calls.push(`yield ${name}`),
  });
}

/** The calls since the last call of this function. */
function newCalls(): string[] {
  return calls.splice(0);
}

test("four streams are granted, the others wait in order", () => {
  const [a, , c] = ["a", "b", "c", "d", "e", "f"].map((name) => request(name));
  expect(newCalls()).toEqual(["go a", "go b", "go c", "go d"]);
  c?.release();
  expect(newCalls()).toEqual(["go e"]);
  c?.release();
  expect(newCalls()).toEqual([]);
  a?.release();
  expect(newCalls()).toEqual(["go f"]);
});

test("a waiting request can be released, and takes no slot", () => {
  const all = ["a", "b", "c", "d", "e", "f"].map((name) => request(name));
  newCalls();
  all[4]?.release();
  all[0]?.release();
  expect(newCalls()).toEqual(["go f"]);
});

test("requests without rows are granted before those with rows", () => {
  const all = ["a", "b", "c", "d"].map((name) => request(name));
  request("later", { hasRows: true });
  request("first");
  newCalls();
  all[0]?.release();
  expect(newCalls()).toEqual(["go first"]);
});

test("a stream with rows yields to one without, the oldest first", () => {
  const all = ["a", "b", "c", "d"].map((name) => request(name));
  request("e");
  newCalls();
  all[1]?.allowYield();
  all[0]?.allowYield();
  // Not before it had time to read.
  expect(newCalls()).toEqual([]);
  vi.advanceTimersByTime(250);
  expect(newCalls()).toEqual(["yield a"]);
  vi.advanceTimersByTime(10_000);
  pool.dispatch();
  expect(newCalls()).toEqual([]);
  all[0]?.release();
  const again = request("a again", { hasRows: true });
  expect(newCalls()).toEqual(["go e"]);
  // No stream yields to one that has rows.
  vi.advanceTimersByTime(10_000);
  expect(newCalls()).toEqual([]);
  again.release();
});

test("a stream that cannot be resumed later keeps its slot", () => {
  for (const name of ["a", "b", "c", "d", "e"]) request(name);
  newCalls();
  vi.advanceTimersByTime(60_000);
  expect(newCalls()).toEqual([]);
});

test("twelve streams all get their first rows, and then all complete", () => {
  const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
  const begun: string[] = [];
  const open = new Map<string, ConnectionSlot>();
  const ended: string[] = [];
  let numOpen = 0;
  const start = (name: string, hasRows: boolean) => {
    const slot: ConnectionSlot = pool.request({
      priority: "stream",
      hasRows,
      onGrant: () => {
        numOpen++;
        expect(numOpen).toBeLessThanOrEqual(4);
        if (!hasRows) begun.push(name);
        queueMicrotask(() => slot.allowYield());
      },
      onYield: () =>
        queueMicrotask(() => {
          numOpen--;
          slot.release();
          start(name, true);
        }),
    });
    open.set(name, slot);
  };
  for (const name of names) start(name, false);
  return vi.advanceTimersByTimeAsync(3000).then(() => {
    expect(begun).toEqual(names);
    while (ended.length < 12) {
      const running = [...open].filter(([, { grantedMs }]) => grantedMs !== undefined);
      expect(running).toHaveLength(Math.min(4, 12 - ended.length));
      const [name, slot] = running[0] as [string, ConnectionSlot];
      ended.push(name);
      open.delete(name);
      numOpen--;
      slot.release();
    }
    expect(new Set(ended).size).toBe(12);
  });
});

test("blocks and questions have slots of their own; one is kept for blocks", () => {
  for (const name of ["a", "b", "c", "d"]) request(name);
  newCalls();
  request("summary", { priority: "question" });
  request("find", { priority: "question" });
  const block = request("block", { priority: "block", hasRows: true });
  request("next", { priority: "block", hasRows: true });
  expect(newCalls()).toEqual(["go summary", "go block"]);
  block.release();
  expect(newCalls()).toEqual(["go next"]);
});

test("a search comes before summaries, even before a running one", () => {
  const first = request("summary", { priority: "question", hasRows: true });
  const second = request("next summary", { priority: "question", hasRows: true });
  expect(newCalls()).toEqual(["go summary"]);
  const find = request("find", { priority: "question" });
  request("other find", { priority: "question" });
  pool.dispatch();
  expect(newCalls()).toEqual(["yield summary"]);
  first.release();
  const again = request("summary again", { priority: "question", hasRows: true });
  expect(newCalls()).toEqual(["go find"]);
  // A search is not interrupted.
  pool.dispatch();
  find.release();
  expect(newCalls()).toEqual(["go other find"]);
  second.release();
  again.release();
});

test("a lower limit makes streams yield, a higher one grants slots", () => {
  const all = ["a", "b", "c", "d"].map((name) => request(name));
  for (const slot of all.slice(0, 3)) slot.allowYield();
  vi.advanceTimersByTime(250);
  newCalls();
  limits = { streams: 1, others: 1 };
  pool.dispatch();
  expect(newCalls()).toEqual(["yield a", "yield b", "yield c"]);
  limits = { streams: 32, others: 16 };
  const more = Array.from({ length: 20 }, (_, index) => `m${index}`);
  for (const name of more) request(name);
  expect(newCalls()).toHaveLength(20);
});
