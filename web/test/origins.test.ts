import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Lane } from "../src/rpc/messages.js";

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

/** A page that has got something from each address by that protocol. */
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

/** Asks for `count` connections; counts those that are given, and those that are asked back. */
async function ask(count: number, lane: Lane = "stream") {
  const { placesOf } = await import("../src/http/origin-pools.js");
  const places = placesOf(`${ORIGIN}/v1/tables/t/rows`);
  const counts = { given: 0, askedBack: 0 };
  const all = Array.from({ length: count }, () =>
    places.ask({
      lane,
      hasRows: false,
      onGo: () => counts.given++,
      onYield: () => counts.askedBack++,
    }),
  );
  return { counts, all };
}

test("over HTTP/1.1, and where the protocol is not known, four streams and two others go", async () => {
  stubPage({
    [`${ORIGIN}/a.js`]: "http/1.1",
    [`${ORIGIN}/b.js`]: "",
    "https://cdn.example/c": "h2",
  });
  expect((await ask(40)).counts.given).toBe(4);
  expect((await ask(40, "block")).counts.given).toBe(2);
});

test("over HTTP/2 and later, many more", async () => {
  stubPage({ [`${ORIGIN}/a.js`]: "http/1.1", [`${ORIGIN}/b.js`]: "h2" });
  expect((await ask(40)).counts.given).toBe(32);
});

test("outside of browsers nothing waits", async () => {
  expect((await ask(40)).counts.given).toBe(40);
});

test("a page out of sight for 5 s keeps one stream, until it is seen again", async () => {
  const page = stubPage({});
  const { counts, all } = await ask(3);
  for (const place of all) place.offer();
  page.hidden = true;
  page.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(4900);
  expect(counts).toEqual({ given: 3, askedBack: 0 });
  vi.advanceTimersByTime(200);
  expect(counts.askedBack).toBe(2);
  for (const place of all.slice(0, 2)) place.leave();
  const more = await ask(2);
  expect(more.counts.given).toBe(0);
  page.hidden = false;
  page.dispatchEvent(new Event("visibilitychange"));
  expect(more.counts.given).toBe(2);
});
