import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SlotPriority } from "../src/rpc/messages.js";

const ORIGIN = "https://data.example";

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetModules();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** A page that loaded something from each address by that protocol. */
function stubPage(entries: Record<string, string>): EventTarget & { hidden: boolean } {
  const page = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal("document", page);
  vi.stubGlobal("location", { href: `${ORIGIN}/` });
  vi.spyOn(performance, "getEntriesByType").mockImplementation((type) =>
    type === "resource"
      ? Object.entries(entries).map(
          ([name, nextHopProtocol]) => ({ name, nextHopProtocol }) as unknown as PerformanceEntry,
        )
      : [],
  );
  return page;
}

/** Requests `count` connections; counts those that are granted, and those asked to yield. */
async function request(count: number, priority: SlotPriority = "stream") {
  const { poolOf } = await import("../src/http/connection-pool.js");
  const pool = poolOf(`${ORIGIN}/v1/tables/t/rows`);
  const counts = { given: 0, askedBack: 0 };
  const all = Array.from({ length: count }, () =>
    pool.request({
      priority,
      hasRows: false,
      onGrant: () => counts.given++,
      onYield: () => counts.askedBack++,
    }),
  );
  return { counts, all };
}

test("over HTTP/1.1, and if the protocol is unknown, four streams and two others are granted", async () => {
  stubPage({
    [`${ORIGIN}/a.js`]: "http/1.1",
    [`${ORIGIN}/b.js`]: "",
    "https://cdn.example/c": "h2",
  });
  expect((await request(40)).counts.given).toBe(4);
  expect((await request(40, "block")).counts.given).toBe(2);
});

test("over HTTP/2 and later, many more are granted", async () => {
  stubPage({ [`${ORIGIN}/a.js`]: "http/1.1", [`${ORIGIN}/b.js`]: "h2" });
  expect((await request(40)).counts.given).toBe(32);
});

test("outside browsers nothing waits", async () => {
  expect((await request(40)).counts.given).toBe(40);
});

test("a page hidden for 5 s keeps one stream until it is visible again", async () => {
  const page = stubPage({});
  const { counts, all } = await request(3);
  for (const slot of all) slot.allowYield();
  page.hidden = true;
  page.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(4900);
  expect(counts).toEqual({ given: 3, askedBack: 0 });
  vi.advanceTimersByTime(200);
  expect(counts.askedBack).toBe(2);
  for (const slot of all.slice(0, 2)) slot.release();
  const more = await request(2);
  expect(more.counts.given).toBe(0);
  page.hidden = false;
  page.dispatchEvent(new Event("visibilitychange"));
  expect(more.counts.given).toBe(2);
});
