import {
  Table,
  tableFromArrays,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { beforeAll, expect, test } from "vitest";
import { arrowTable } from "../src/api/arrow.js";
import type { View } from "../src/api/row-reader.js";
import { ColonnadeError } from "../src/model/errors.js";
import type { Predicate } from "../src/model/predicate.js";
import { Kernels } from "../src/worker/kernels.js";
import type { WasmKernels } from "../src/worker/wasm-kernels.js";
import { seededRandom } from "./random.js";
import { decode, read, rowsOf } from "./rows.js";

const cases = (name: string) => JSON.parse(read(`../fixtures/${name}.json`).toString());

let table: View;
beforeAll(async () => {
  table = await rowsOf(read("../fixtures/predicates.arrows"));
});

const numbers = async (view: View) => [
  ...((await view.rowNumbers({ start: 0, end: view.numRows })) ?? []),
];

test("filters give the same rows as the server", async () => {
  for (const { filter, rows, error } of cases("predicates")) {
    const found = table.filter(filter as Predicate);
    if (error === undefined)
      expect(await numbers(await found), JSON.stringify(filter)).toEqual(rows);
    else await expect(found, JSON.stringify(filter)).rejects.toMatchObject({ code: error });
  }
});

test("sorts give the same order as the server", async () => {
  for (const { sort, rows } of cases("sorts")) {
    const keys = sort.map((item: string) => ({
      column: item.replace(/^-/, ""),
      descending: item.startsWith("-"),
    }));
    expect(await numbers(await table.sort(keys)), sort.join()).toEqual(rows);
  }
});

test("a view is read, sorted and filtered like a table", async () => {
  const airs = await table.filter({ op: "contains", column: "dict", value: "AI" });
  expect(airs.numRows).toBe(5);
  const sorted = await airs.sort([{ column: "i64", descending: true }]);
  expect(await numbers(sorted)).toEqual([5, 1, 0, 3, 6]);
  expect(await sorted.rowNumber(1)).toBe(1);
  expect(await sorted.rowNumber(5)).toBeUndefined();
  expect(await sorted.text({ start: 1, end: 9 }, ["i64", "dict"])).toEqual([
    ["9007199254740993", "RAIL"],
    ["0", "AIR"],
    ["-1", "AIR"],
    ["-9223372036854775808", "RAIL"],
  ]);
  const negative = await sorted.filter({ op: "lt", column: "i64", value: 0n });
  expect(await numbers(negative)).toEqual([3, 6]);
  negative.close();
  await expect(negative.text({ start: 0, end: 1 })).rejects.toMatchObject({ code: "closed" });
});

const textOf = (row: number) => (row % 7 === 3 ? null : `№ ${row % 7}`);

/** A column of 5,000 texts with six distinct values; every seventh is null. */
function repeated(): Uint8Array {
  const texts = Array.from({ length: 5000 }, (_, row) => textOf(row));
  return tableToIPC(new Table({ s: vectorFromArray(texts, new Utf8()) }), "stream");
}

test("values are exact and report nulls", async () => {
  const i64 = await table.values("i64", { start: 1, end: 5 });
  expect(i64.values).toEqual(BigInt64Array.of(2n ** 53n + 1n, 2n ** 53n, -1n, 0n));
  expect(i64.validity).toEqual(Uint8Array.of(1, 1, 1, 0));
  const f64 = await table.values("f64", { start: 0, end: 99 });
  expect(f64.values).toEqual(Float64Array.of(-0, 0, Number.NaN, 1.5, -1.5, Infinity, -Infinity, 0));
  expect((await table.values("dec", { start: 0, end: 4 })).values).toEqual([
    "1.00",
    "1.01",
    "-1.00",
    "",
  ]);
  const { values, validity } = await (await rowsOf(repeated())).values("s", {
    start: 1,
    end: 4999,
  });
  const expected = Array.from({ length: 4998 }, (_, row) => textOf(row + 1));
  expect(values).toEqual(expected.map((text) => text ?? ""));
  expect(validity).toEqual(Uint8Array.from(expected, (text) => (text === null ? 0 : 1)));
  expect((await table.values("bool", { start: 0, end: 3 })).values).toEqual(Uint8Array.of(1, 0, 0));
  const utc = await table.values("utc", { start: 3, end: 4 });
  expect(utc.values).toEqual(BigInt64Array.of(1_719_835_200_000_000n));
  await expect(table.values("i46", { start: 0, end: 1 })).rejects.toMatchObject({
    code: "unknown_column",
  });
});

test("numbers that JSON lacks reach the filter", async () => {
  const nan = await table.filter({ op: "eq", column: "f64", value: Number.NaN });
  expect(await numbers(nan)).toEqual([2]);
  const infinite = await table.filter({ op: "ge", column: "f64", value: Infinity });
  expect(await numbers(infinite)).toEqual([2, 5]);
});

test("a text is found in the cells that show it", async () => {
  expect(await table.find("air", { limit: 2 })).toEqual({
    matches: [
      { row: 0, columns: ["dict"] },
      { row: 3, columns: ["dict"] },
    ],
    next: 4,
    searched: 4,
  });
  await expect(table.find("")).rejects.toMatchObject({ code: "bad_parameter" });
});

async function toArrow(stream: Uint8Array) {
  const { kernels, schema } = await decode(stream);
  if (schema === undefined) throw new Error("There is no schema.");
  return arrowTable(schema, () => kernels.stream(new AbortController().signal));
}

test("apache-arrow gets the same table", async () => {
  const stream = read("../fixtures/predicates.arrows");
  const [ours, theirs] = [await toArrow(stream), tableFromIPC(stream)];
  expect(ours.schema.toString()).toBe(theirs.schema.toString());
  expect(ours.toArray().map(String)).toEqual(theirs.toArray().map(String));
  expect(ours.getChild("dict")?.toArray()).toEqual(theirs.getChild("dict")?.toArray());
});

test("a table that apache-arrow cannot read is refused with the column's name", async () => {
  const refused = toArrow(read("../fixtures/every_type.arrows"));
  await expect(refused).rejects.toMatchObject({
    code: "unsupported_type",
    message: expect.stringContaining('"decimal32"'),
  });
});

test("long work reports its progress, and can be stopped", { timeout: 60_000 }, async () => {
  const random = seededRandom(7);
  const x = Float64Array.from({ length: 1_000_000 }, () => random() - 0.5);
  const many = await rowsOf(tableToIPC(tableFromArrays({ x }), "stream"));
  expect(many.numRows).toBe(1_000_000);
  const fractions: number[] = [];
  const onProgress = (fraction: number) => fractions.push(fraction);
  const sorted = await many.sort([{ column: "x" }], { onProgress });
  const { values } = await sorted.values("x", { start: 0, end: 1_000_000 });
  expect(values).toEqual(x.toSorted());
  expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  const controller = new AbortController();
  const stopped = many.sort([{ column: "x" }], { signal: controller.signal });
  setTimeout(() => controller.abort());
  await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
  const positive = await many.filter({ op: "gt", column: "x", value: 0 });
  expect(positive.numRows).toBe(x.filter((value) => value > 0).length);
});

test("drawn columns are sorted, filtered, searched and counted as JavaScript does it", async () => {
  const random = seededRandom(11);
  const draw = <T>(make: () => T) => Array.from({ length: 60_000 }, make);
  const below = (end: number) => Math.floor(random() * end);
  const columns = {
    price: draw(() => (below(20) === 0 ? null : below(1000) / 4 - 100)),
    text: draw(() => `https://example.com/shop/${below(30)}/item/${below(5000)}`),
    word: draw(() => ["AIR", "MAIL", "RAIL", null][below(4)] ?? null),
  };
  const drawn = await rowsOf(
    tableToIPC(
      new Table({
        price: vectorFromArray(columns.price),
        text: vectorFromArray(columns.text, new Utf8()),
        word: vectorFromArray(columns.word),
      }),
      "stream",
    ),
  );
  const order = (name: keyof typeof columns, descending: boolean) => (a: number, b: number) => {
    const [first, second] = [columns[name][a] ?? null, columns[name][b] ?? null];
    if (first === second) return 0;
    if (first === null || second === null) return first === null ? 1 : -1;
    return first < second === descending ? 1 : -1;
  };
  const rows = Array.from(columns.price.keys());
  for (const names of [["price"], ["text"], ["word", "price"], ["word", "text"]] as const) {
    for (const descending of [false, true]) {
      const sorted = await drawn.sort(names.map((column) => ({ column, descending })));
      const compare = (a: number, b: number) =>
        names.reduce((known, name) => known || order(name, descending)(a, b), 0);
      expect(await numbers(sorted), names.join()).toEqual(rows.toSorted(compare));
    }
  }
  const cheap = await drawn.filter({ op: "lt", column: "price", value: 0.25 });
  const isCheap = (row: number) => (columns.price[row] ?? 1) < 0.25;
  expect(await numbers(cheap)).toEqual(rows.filter(isCheap));
  const { matches } = await cheap.find("ITEM/42", { limit: 1e6 });
  const found = rows.filter(isCheap).filter((row) => columns.text[row]?.includes("item/42"));
  expect(matches.length).toBe(found.length);
  const { top } = await drawn.summary("word");
  const counts = top?.map(({ value }) => columns.word.filter((word) => word === value).length);
  expect(top?.map(({ count }) => count)).toEqual(counts);
  expect(counts?.length).toBe(3);
});

test("a view is summarised with the bins of its table", async () => {
  const whole = await table.summary("i8");
  const some = await table.filter({ op: "not_null", column: "i8" });
  const within = await some.summary("i8");
  expect(within.histogram?.edges).toEqual(whole.histogram?.edges);
  expect(within.histogram?.counts).toEqual(whole.histogram?.counts);
  expect([within.rows, within.nulls]).toEqual([some.numRows, 0]);
  const none = await table.filter({ op: "eq", column: "dict", value: "no such text" });
  const { top, rows } = await none.summary("dict");
  expect(top?.map(({ count }) => count)).toEqual((await table.summary("dict")).top?.map(() => 0));
  expect(rows).toBe(0);
  expect(await table.summary("i8")).toEqual(whole);
  expect((await table.summary("dict", { maxCounted: 1 })).top).toBeUndefined();
});

test("in a view of a column with very many values, the most frequent ones are counted", async () => {
  const numRows = 70_000;
  const name = Array.from({ length: numRows }, (_, row) => `n${row % (numRows - 1)}`);
  const many = await rowsOf(tableToIPC(tableFromArrays({ name }), "stream"));
  const some = await many.filter({ op: "in", column: "name", value: ["n0", "n5"] });
  for (let turn = 0; turn < 2; turn++) {
    const { top } = await some.summary("name", { maxCounted: 1 << 20 });
    expect(top?.[0]).toEqual({ value: "n0", count: 2 });
  }
});

test("the most recently used summaries are kept, others are freed", async () => {
  const freed: string[] = [];
  const resumed: string[] = [];
  const wasm = {
    summary: (column: string) => ({ column, fraction: () => 1, free: () => freed.push(column) }),
    resumeSummary: ({ column }: { column: string }) => resumed.push(column),
    step: () => true,
    summaryText: () => "",
  };
  const kernels = new Kernels((work) => work(wasm as unknown as WasmKernels));
  const { signal } = new AbortController();
  const summarise = (column: string) =>
    kernels.run({ kind: "summary", column, maxCounted: 1, view: 0 }, signal, () => undefined);
  for (let column = 0; column < 32; column++) await summarise(`c${column}`);
  await summarise("c0");
  expect(freed).toEqual([]);
  for (const column of ["c32", "c33", "c0"]) await summarise(column);
  expect(freed).toEqual(["c1", "c2"]);
  expect(resumed).toEqual(["c0", "c0"]);
});

test("a sort that fails after its first rows rejects all who wait, and is freed once", async () => {
  let isFull = false;
  let numPlaced = 0;
  let numFreed = 0;
  const job = {
    fraction: () => 0.5,
    numPlaced: () => numPlaced,
    placed: () => ({ rowNumbers: () => Uint32Array.of(7), free: () => undefined }),
    free: () => numFreed++,
  };
  const wasm = {
    allRows: () => ({ numRows: () => 1_000_000, free: () => undefined }),
    sort: () => job,
    step: () => {
      if (isFull) throw Object.assign(new Error("no room"), { code: "out_of_memory" });
      numPlaced = 200;
      return false;
    },
  };
  const kernels = new Kernels((work) => {
    try {
      return work(wasm as unknown as WasmKernels);
    } catch (thrown) {
      throw ColonnadeError.from(thrown, "decode_error");
    }
  });
  const { signal } = new AbortController();
  const report = () => undefined;
  const sorted = await kernels.run({ kind: "sort", view: 0, keys: [] }, signal, report);
  expect(sorted).toEqual({ view: 1, numRows: 1_000_000, isDone: false });
  expect(kernels.rowNumbers(1, 0, 1)).toEqual(Uint32Array.of(7));
  const waiting = [kernels.finishSort(1, report), kernels.reachPlaces(1, 9000, signal)];
  isFull = true;
  for (const wait of await Promise.allSettled(waiting)) {
    expect(wait).toMatchObject({ status: "rejected", reason: { code: "out_of_memory" } });
  }
  await expect(kernels.reachPlaces(1, 1, signal)).rejects.toMatchObject({ code: "out_of_memory" });
  kernels.release(1);
  expect(numFreed).toBe(1);
  expect(() => kernels.rowNumbers(1, 0, 1)).toThrow(expect.objectContaining({ code: "closed" }));
});
