// Views of the built module that are read while their rows are still being sorted.

import { Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { beforeAll, expect, test } from "vitest";
import type { View } from "../src/api/row-reader.js";
import { seededRandom } from "./random.js";
import { rowsOf } from "./rows.js";

const NUM_ROWS = 1_500_000;
const SEED = 29;

const random = seededRandom(SEED);
const below = (end: number) => Math.floor(random() * end);
const price = Float64Array.from({ length: NUM_ROWS }, () => below(1_000_000) / 100);
const word = Array.from(
  { length: NUM_ROWS },
  () => ["AIR", "MAIL", "RAIL", null][below(4)] ?? null,
);

let table: View;
beforeAll(async () => {
  const columns = { price: vectorFromArray(price), word: vectorFromArray(word, new Utf8()) };
  table = await rowsOf(tableToIPC(new Table(columns), "stream"));
}, 60_000);

/** The rows by price; equal prices keep their order. */
const order = Uint32Array.from(price.keys()).sort(
  (a, b) => (price[a] ?? 0) - (price[b] ?? 0) || a - b,
);
const rowsOfOrder = (start: number, end: number) =>
  [...order.subarray(start, end)].map((row) => [String(price[row]), word[row] ?? null]);

const ascending = [{ column: "price" }];

test("the first rows are read before the last ones have their places", async () => {
  const view = await table.sort(ascending);
  expect(view.isDone).toBe(false);
  expect(view.numRows).toBe(NUM_ROWS);
  expect(await view.text({ start: 0, end: 20 })).toEqual(rowsOfOrder(0, 20));
  expect(view.isDone).toBe(false);
  const last = view.text({ start: NUM_ROWS - 20, end: NUM_ROWS });
  const drawn = Array.from({ length: 40 }, async () => {
    const start = below(NUM_ROWS - 100);
    expect(await view.text({ start, end: start + 100 }), `row ${start}`).toEqual(
      rowsOfOrder(start, start + 100),
    );
    expect(await view.rowNumbers({ start, end: start + 9 })).toEqual(order.slice(start, start + 9));
    const { values } = await view.values("price", { start, end: start + 9 });
    expect(values).toEqual(
      Float64Array.from(order.subarray(start, start + 9), (row) => price[row] ?? 0),
    );
  });
  await Promise.all(drawn);
  expect(await last).toEqual(rowsOfOrder(NUM_ROWS - 20, NUM_ROWS));
  await view.done;
  expect(view.isDone).toBe(true);
  const numbers = await view.rowNumbers({ start: 0, end: NUM_ROWS });
  expect(numbers?.every((row, at) => row === order[at])).toBe(true);
  view.close();
});

test("a summary in the background goes on when nothing else runs", async () => {
  const ended: string[] = [];
  const note = (name: string) => () => void ended.push(name);
  const summary = table.summary("price", { isBackground: true }).then(note("summary"));
  const stopped = new AbortController();
  const { signal } = stopped;
  const another = table.summary("word", { isBackground: true, signal }).catch(note("stopped"));
  const view = await table.sort(ascending);
  const filtered = await table.filter({ op: "gt", column: "price", value: "9000" });
  note("filter")();
  stopped.abort();
  await Promise.all([summary, another, view.done.then(note("sort"))]);
  expect(ended.at(-1)).toBe("summary");
  expect(ended.toSorted()).toEqual(["filter", "sort", "stopped", "summary"]);
  expect(await table.summary("price", { isBackground: true })).toEqual(
    await table.summary("price"),
  );
  for (const each of [view, filtered]) each.close();
});

test("a search ends with the rows that it needs; other work waits for all", async () => {
  const view = await table.sort(ascending);
  const first = [...order].findIndex((row) => word[row] === "MAIL");
  const found = await view.find("MAIL", { limit: 1 });
  expect(found).toEqual({
    matches: [{ row: first, columns: ["word"] }],
    next: first + 1,
    searched: first + 1,
  });
  expect(view.isDone).toBe(false);
  const from = NUM_ROWS - 50;
  const late = await view.find("MAIL", { from, limit: 1 });
  const lateRow = [...order].findIndex((row, at) => at >= from && word[row] === "MAIL");
  expect(late.matches).toEqual([{ row: lateRow, columns: ["word"] }]);
  expect(view.isDone).toBe(true);
  view.close();

  const other = await table.sort(ascending);
  const mail = await other.filter({ op: "eq", column: "word", value: "MAIL" });
  const expected = order.filter((row) => word[row] === "MAIL");
  const numbers = await mail.rowNumbers({ start: 0, end: NUM_ROWS });
  expect(numbers?.length).toBe(expected.length);
  expect(numbers?.every((row, at) => row === expected[at])).toBe(true);
  const { rows } = await other.summary("word");
  expect(rows).toBe(NUM_ROWS);
  other.close();
});

test("work on a view waits until the view is there, also if its last rows come with a whole step", async () => {
  const count = 655_360;
  const columns = {
    same: vectorFromArray(new Int32Array(count).fill(7)),
    number: vectorFromArray(Int32Array.from({ length: count }, (_, row) => row)),
  };
  const rows = await rowsOf(tableToIPC(new Table(columns), "stream"));
  const sorted = await rows.sort([{ column: "same" }]);
  expect(sorted.isDone).toBe(false);
  const few = await sorted.filter({ op: "lt", column: "number", value: 10 });
  expect(few.numRows).toBe(10);
  const again = await (await rows.sort([{ column: "same" }])).sort([
    { column: "number", descending: true },
  ]);
  expect(await again.text({ start: 0, end: 1 }, ["number"])).toEqual([[`${count - 1}`]]);
});

test("a sort that is cancelled after its first rows rejects those who wait", async () => {
  const controller = new AbortController();
  const fractions: number[] = [];
  const onProgress = (fraction: number) => fractions.push(fraction);
  const view = await table.sort(ascending, { signal: controller.signal, onProgress });
  const last = view.text({ start: NUM_ROWS - 1, end: NUM_ROWS });
  controller.abort();
  for (const rejected of [last, view.done, view.text({ start: NUM_ROWS - 9, end: NUM_ROWS })]) {
    await expect(rejected).rejects.toMatchObject({ code: "cancelled" });
  }
  await expect(view.find("no such text")).rejects.toMatchObject({ code: "cancelled" });
  expect(view.isDone).toBe(false);
  view.close();
  await expect(view.text({ start: 0, end: 1 })).rejects.toMatchObject({ code: "closed" });

  const whole = await table.sort(ascending, { onProgress });
  await whole.done;
  expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  whole.close();
});

test("a view that is closed while it is sorted rejects those who wait", async () => {
  const view = await table.sort(ascending);
  const last = view.text({ start: NUM_ROWS - 1, end: NUM_ROWS });
  await view.text({ start: 0, end: 1 });
  view.close();
  await expect(last).rejects.toMatchObject({ code: "cancelled" });
  await expect(view.done).rejects.toMatchObject({ code: "cancelled" });
});

test("a read that is cancelled leaves the sort alone", async () => {
  const view = await table.sort(ascending);
  const controller = new AbortController();
  const range = { start: NUM_ROWS - 1, end: NUM_ROWS };
  const window = view.window(range, Uint32Array.of(0), 0, controller.signal);
  controller.abort();
  await expect(window).rejects.toMatchObject({ code: "cancelled" });
  expect(await view.text(range)).toEqual(rowsOfOrder(NUM_ROWS - 1, NUM_ROWS));
  view.close();
});
