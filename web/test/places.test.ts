import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Place, type PlaceLimits, Places } from "../src/http/connection-pool.js";
import type { Lane } from "../src/rpc/messages.js";

let limits: PlaceLimits;
let places: Places;
/** What was told, in order: `go a`, `yield a`. */
let told: string[];

beforeEach(() => {
  vi.useFakeTimers();
  limits = { streams: 4, others: 2 };
  places = new Places(() => limits);
  told = [];
});
afterEach(() => vi.useRealTimers());

function ask(name: string, { lane = "stream" as Lane, hasRows = false } = {}): Place {
  return places.ask({
    lane,
    hasRows,
    onGo: () => told.push(`go ${name}`),
    onYield: () => told.push(`yield ${name}`),
  });
}

/** What was told since the last time. */
function news(): string[] {
  return told.splice(0);
}

test("four streams go, the others in the order in which they came", () => {
  const [a, , c] = ["a", "b", "c", "d", "e", "f"].map((name) => ask(name));
  expect(news()).toEqual(["go a", "go b", "go c", "go d"]);
  c?.leave();
  expect(news()).toEqual(["go e"]);
  c?.leave();
  expect(news()).toEqual([]);
  a?.leave();
  expect(news()).toEqual(["go f"]);
});

test("whoever waits may leave, and takes no place", () => {
  const all = ["a", "b", "c", "d", "e", "f"].map((name) => ask(name));
  news();
  all[4]?.leave();
  all[0]?.leave();
  expect(news()).toEqual(["go f"]);
});

test("first rows come before the rest of others", () => {
  const all = ["a", "b", "c", "d"].map((name) => ask(name));
  ask("later", { hasRows: true });
  ask("first");
  news();
  all[0]?.leave();
  expect(news()).toEqual(["go first"]);
});

test("a stream that has rows makes room for one that has none, the oldest first", () => {
  const all = ["a", "b", "c", "d"].map((name) => ask(name));
  ask("e");
  news();
  all[1]?.offer();
  all[0]?.offer();
  // Not before it could read anything.
  expect(news()).toEqual([]);
  vi.advanceTimersByTime(250);
  expect(news()).toEqual(["yield a"]);
  vi.advanceTimersByTime(10_000);
  places.pump();
  expect(news()).toEqual([]);
  all[0]?.leave();
  const again = ask("a again", { hasRows: true });
  expect(news()).toEqual(["go e"]);
  // Nobody makes room for the rest of a stream.
  vi.advanceTimersByTime(10_000);
  expect(news()).toEqual([]);
  again.leave();
});

test("who cannot be gone on with keeps its place", () => {
  for (const name of ["a", "b", "c", "d", "e"]) ask(name);
  news();
  vi.advanceTimersByTime(60_000);
  expect(news()).toEqual([]);
});

test("twelve streams all get their first rows, and then all end", () => {
  const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
  const begun: string[] = [];
  const open = new Map<string, Place>();
  const ended: string[] = [];
  let numOpen = 0;
  const start = (name: string, hasRows: boolean) => {
    const place: Place = places.ask({
      lane: "stream",
      hasRows,
      onGo: () => {
        numOpen++;
        expect(numOpen).toBeLessThanOrEqual(4);
        if (!hasRows) begun.push(name);
        queueMicrotask(() => place.offer());
      },
      onYield: () =>
        queueMicrotask(() => {
          numOpen--;
          place.leave();
          start(name, true);
        }),
    });
    open.set(name, place);
  };
  for (const name of names) start(name, false);
  return vi.advanceTimersByTimeAsync(3000).then(() => {
    expect(begun).toEqual(names);
    while (ended.length < 12) {
      const running = [...open].filter(([, { sinceMs }]) => sinceMs !== undefined);
      expect(running).toHaveLength(Math.min(4, 12 - ended.length));
      const [name, place] = running[0] as [string, Place];
      ended.push(name);
      open.delete(name);
      numOpen--;
      place.leave();
    }
    expect(new Set(ended).size).toBe(12);
  });
});

test("blocks and questions have places of their own; one of them is never a question", () => {
  for (const name of ["a", "b", "c", "d"]) ask(name);
  news();
  ask("summary", { lane: "question" });
  ask("find", { lane: "question" });
  const block = ask("block", { lane: "block", hasRows: true });
  ask("next", { lane: "block", hasRows: true });
  expect(news()).toEqual(["go summary", "go block"]);
  block.leave();
  expect(news()).toEqual(["go next"]);
});

test("a search comes before summaries, also before one that is at work", () => {
  const first = ask("summary", { lane: "question", hasRows: true });
  const second = ask("next summary", { lane: "question", hasRows: true });
  expect(news()).toEqual(["go summary"]);
  const find = ask("find", { lane: "question" });
  ask("other find", { lane: "question" });
  places.pump();
  expect(news()).toEqual(["yield summary"]);
  first.leave();
  const again = ask("summary again", { lane: "question", hasRows: true });
  expect(news()).toEqual(["go find"]);
  // A search is not interrupted.
  places.pump();
  find.leave();
  expect(news()).toEqual(["go other find"]);
  second.leave();
  again.leave();
});

test("a lower limit takes places back, a higher one gives them", () => {
  const all = ["a", "b", "c", "d"].map((name) => ask(name));
  for (const place of all.slice(0, 3)) place.offer();
  vi.advanceTimersByTime(250);
  news();
  limits = { streams: 1, others: 1 };
  places.pump();
  expect(news()).toEqual(["yield a", "yield b", "yield c"]);
  limits = { streams: 32, others: 16 };
  const more = Array.from({ length: 20 }, (_, index) => `m${index}`);
  for (const name of more) ask(name);
  expect(news()).toHaveLength(20);
});
