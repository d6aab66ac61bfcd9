import { expect, test, vi } from "vitest";
import { formatAddress } from "../src/address/address.js";
import { predicateText } from "../src/print/predicate-text.js";
import {
  fractionOf,
  hasAllRows,
  type QueryRecord,
  type QueryRequest,
  queryAddress,
  queryDetails,
  queryTitle,
} from "../src/queries/queries.js";
import { reusedResultRequest, reuseResult } from "../src/queries/reused-result.js";
import { RetryDelays } from "../src/reconnect/retry-delays.js";

function record(request: QueryRequest | undefined, more: Partial<QueryRecord> = {}): QueryRecord {
  return {
    id: "6f1c8f2e-3a5b-4c1d-9e2f-0a1b2c3d4e5f",
    ...(request === undefined ? {} : { request }),
    state: "done",
    order: "total",
    first_row: 0,
    rows: 1000,
    rows_ready: 1000,
    bytes_sent: 1_500_000,
    elapsed_ms: 1240,
    error: null,
    ...more,
  };
}

test("the title of a result describes its request", () => {
  const base = record({ sql: " select 1 " });
  const title = (request: QueryRequest | undefined) =>
    queryTitle(record(request, { id: "b" }), [base]);
  expect(title({ sql: "select 2" })).toBe("select 2");
  expect(title({ table: "t" })).toBe("t");
  expect(title({ table: "t", columns: ["a"], filter: "a > 1", offset: 9, limit: 1 })).toBe(
    "t · 1 column · filtered · from row 10 · at most 1 row",
  );
  const sort = [{ column: "a", descending: true }, { column: "b" }];
  expect(title({ query: base.id, sort })).toBe("select 1 · sorted by a ↓, b");
  expect(title({ query: "01234567-89ab" })).toBe("result 01234567");
  expect(title(undefined)).toBe("Result b");
});

test("the details of a result are the known values", () => {
  expect(queryDetails(record({ table: "t" }))).toEqual([
    "1,000 rows",
    "1.5 MB sent",
    "in a fixed order",
    "1.2 s",
  ]);
  const running = record(
    { table: "t" },
    {
      state: "running",
      order: null,
      rows: null,
      rows_ready: 1,
      memory_bytes: 8e6,
      disk_bytes: 9e9,
    },
  );
  expect(queryDetails(running)).toEqual([
    "1 row",
    "1.5 MB sent",
    "8.0 MB in memory",
    "9.0 GB on disk",
    "1.2 s",
  ]);
  expect(fractionOf(running)).toBeUndefined();
  expect(queryDetails({ ...running, rows: 4 })[0]).toBe("1 of 4 rows");
  expect(fractionOf({ ...running, rows: 4 })).toBe(0.25);
});

test("a result links to the address of the same rows", () => {
  const base = record({ table: "t" });
  const made = record({ query: base.id, sort: [{ column: "a" }] }, { id: "made" });
  const address = (request: QueryRequest | undefined) => {
    const place = queryAddress(record(request, { id: "b" }), [base, made]);
    return place && decodeURIComponent(formatAddress(place)).replaceAll("+", " ");
  };
  expect(address({ sql: "select 1" })).toBe("/?sql=select 1");
  expect(address({ table: "t" })).toBe("/?table=t");
  const filter = { op: "is_null", column: "a" } as const;
  expect(address({ table: "t", filter, sort: [{ column: "a", descending: true }] })).toBe(
    `/?table=t&sort=-a&filter=${JSON.stringify(filter)}`,
  );
  expect(address({ query: base.id, sort: [{ column: "a" }] })).toBe("/?table=t&sort=a");
  expect(address({ query: "made", sort: [{ column: "b" }] })).toBeUndefined();
  expect(address({ query: "forgotten" })).toBeUndefined();
  const text = { table: "T 1", columns: ["a", "B c"], filter: "a > 1", limit: 5, offset: 2 };
  expect(address({ ...text, sort: [{ column: "a", descending: true }] })).toBe(
    `/?sql=SELECT a, "B c" FROM "T 1" WHERE a > 1 ORDER BY a DESC NULLS LAST LIMIT 5 OFFSET 2`,
  );
  expect(address(undefined)).toBeUndefined();
});

test("a stored result of a statement is reused once", () => {
  expect(hasAllRows(record({ sql: "a" }))).toBe(true);
  expect(hasAllRows(record({ sql: "a", limit: 1 }))).toBe(false);
  expect(hasAllRows(record({ sql: "a" }, { first_row: 1 }))).toBe(false);
  expect(hasAllRows(record({ sql: "a" }, { state: "cancelled" }))).toBe(false);
  vi.stubGlobal(
    "Request",
    class {
      constructor(readonly url: string) {}
    },
  );
  reuseResult("a", "1");
  expect(reusedResultRequest("a")?.url).toBe("/v1/query/1/rows");
  expect(reusedResultRequest("a")).toBeUndefined();
  reuseResult("a", "1");
  expect(reusedResultRequest("b")).toBeUndefined();
  vi.unstubAllGlobals();
});

test("a predicate is formatted as text for people", () => {
  expect(
    predicateText({
      and: [
        { op: "ge", column: "a", value: "50" },
        {
          or: [{ op: "eq", column: "b", value: "AIR" }, { not: { op: "is_null", column: "c" } }],
        },
        { op: "in", column: "d", value: ["1", "2"] },
      ],
    }),
  ).toBe("a ≥ 50 and (b = AIR or not (c is null)) and d is one of 1, 2");
});

test("the delays between retries double, and retries end without new rows", () => {
  const delays = new RetryDelays();
  const [one, other] = [{}, {}];
  const next = (source: object, numRows: number, count: number) =>
    Array.from({ length: count }, () => delays.next(source, numRows));
  const all = [2000, 4000, 8000, 16_000, 32_000, 64_000, undefined, undefined];
  expect(next(one, 0, 8)).toEqual(all);
  expect(next(one, 10, 2)).toEqual([2000, 4000]);
  expect(next(one, 5, 1)).toEqual([8000]);
  expect(next(other, 0, 8)).toEqual(all);
});
