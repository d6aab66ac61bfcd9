import type { Predicate } from "colonnade";
import { expect, test, vi } from "vitest";
import { type Bins, binsOf, boundValue } from "../src/charts/bins.js";
import {
  brushPredicate,
  type ChartSpec,
  decodeState,
  encodeState,
  fitToFields,
  suggestions,
} from "../src/charts/chart-spec.js";
import { type ChartField, roleOf, sqlType } from "../src/charts/fields.js";
import { findGroupingColumn } from "../src/charts/grouping-column.js";
import { hasUnorderedLimit, predicateSql, relation } from "../src/charts/predicate-sql.js";
import { quoteName, quoteNameIfNeeded, quoteText } from "../src/text/quote.js";

const FLIGHTS: ChartField[] = [
  { name: "date", type: "timestamp[us]" },
  { name: "delay", type: "int64" },
  { name: "distance", type: "int64" },
  { name: "origin", type: "large_string" },
];

test("names, texts and statements are quoted for SQL", () => {
  expect(quoteName('a"b; drop')).toBe('"a""b; drop"');
  expect(["City", "from", "Null", "a b"].map(quoteNameIfNeeded)).toEqual([
    "City",
    '"from"',
    '"Null"',
    '"a b"',
  ]);
  expect(quoteText("it's")).toBe("'it''s'");
  expect(relation({ table: "dir.a" })).toBe('"dir.a"');
  expect(relation({ sql: "select 1 -- one;  ;\n" })).toBe("(select 1) AS result");
  expect(relation({ sql: "select '--;' as \"a;--\" /* b */ ; -- c" })).toBe(
    "(select '--;' as \"a;--\") AS result",
  );
  expect(relation({ sql: "select 1 -- one\n+ 1;" })).toBe("(select 1 -- one\n+ 1) AS result");
});

test.each([
  ["select * from a limit 10", true],
  ["select * from a\nOFFSET 5 -- order by a", true],
  ["select * from (select * from a order by b) as c limit 10", true],
  ["select * from a order by b limit 10", false],
  ["select 'limit' as \"limit\" /* limit */", false],
  ["select * from (select * from a limit 1) as b", false],
])("%s: has a LIMIT without ORDER BY: %s", (sql, isAny) => {
  expect(hasUnorderedLimit(sql)).toBe(isAny);
});

const FIELDS: ChartField[] = [
  { name: 'odd "name"', type: "string" },
  { name: "d", type: "decimal128(12, 2)" },
  { name: "n", type: "uint64" },
  { name: "t", type: "timestamp[ns, tz=Europe/Paris]" },
  { name: "code", type: "dictionary<values=string, indices=int32, ordered=0>" },
];

test.each<[Predicate, string]>([
  [
    { op: "eq", column: 'odd "name"', value: "it's" },
    `("odd ""name""" = arrow_cast('it''s', 'Utf8'))`,
  ],
  [{ op: "lt", column: "d", value: "1.005" }, `("d" <= arrow_cast('1.00', 'Decimal128(12, 2)'))`],
  [{ op: "ge", column: "d", value: "-1.005" }, `("d" > arrow_cast('-1.01', 'Decimal128(12, 2)'))`],
  [{ op: "gt", column: "d", value: "1e20" }, `("d" IS NULL AND CAST(NULL AS BOOLEAN))`],
  [
    { op: "eq", column: "n", value: 18446744073709551615n },
    `("n" = arrow_cast('18446744073709551615', 'UInt64'))`,
  ],
  [{ op: "ge", column: "t", value: "2024-07-01T12:00:00Z" }, `("t" >= '2024-07-01T12:00:00Z')`],
  [{ op: "contains", column: "code", value: "%" }, `contains(CAST("code" AS VARCHAR), '%')`],
  [{ not: { op: "in", column: "n", value: [] } }, "(NOT FALSE)"],
  [{ and: [] }, "TRUE"],
  [
    {
      or: [
        { op: "is_null", column: "d" },
        { op: "not_null", column: "n" },
      ],
    },
    `(("d" IS NULL) OR ("n" IS NOT NULL))`,
  ],
])("%o becomes one SQL expression", (predicate, sql) => {
  expect(predicateSql(predicate, FIELDS)).toBe(sql);
});

test("an error names the column or the value that cannot be compared", () => {
  expect(() => predicateSql({ op: "eq", column: "x", value: 1 }, FIELDS)).toThrow("x");
  expect(() => predicateSql({ op: "eq", column: "d", value: "one" }, FIELDS)).toThrow("“one”");
  const search = { op: "matches", value: "x" } as const;
  expect(() => predicateSql({ not: search }, FIELDS)).toThrow("A search cannot be charted");
});

test("a type has a role in charts and a name in SQL", () => {
  expect(roleOf({ name: "a", type: "run_end_encoded<run_ends: int32, values: string>" })).toBe(
    "category",
  );
  expect(roleOf({ name: "a", type: "list<item: int64>" })).toBeUndefined();
  expect(roleOf({ name: "a", type: "time32[s]" })).toBeUndefined();
  expect(sqlType("decimal256(76, -3)")).toBe("Decimal256(76, -3)");
  expect(sqlType("timestamp[s, tz=+05:30]")).toBe('Timestamp(Second, Some("+05:30"))');
});

/** The bounds of all bins. */
function bounds(bins: Bins): string[] {
  return Array.from({ length: bins.to - bins.from + 1 }, (_, k) => bins.text(bins.from + k));
}

test("bins have round bounds and keep exact values", () => {
  const field = (type: string) => ({ name: "a", type });
  expect(bounds(binsOf(field("decimal128(4, 2)"), { low: "0.00", high: "0.10" }, 10))).toEqual([
    "0",
    "0.01",
    "0.02",
    "0.03",
    "0.04",
    "0.05",
    "0.06",
    "0.07",
    "0.08",
    "0.09",
    "0.1",
    "0.11",
  ]);
  expect(bounds(binsOf(field("double"), { low: "-1.5", high: "2.5" }, 4))).toEqual([
    "-2",
    "-1",
    "0",
    "1",
    "2",
    "3",
  ]);
  const exact = { low: "9007199254740993", high: "9007199254740995" };
  expect(bounds(binsOf(field("int64"), exact, 40))).toEqual([
    "9007199254740993",
    "9007199254740994",
    "9007199254740995",
    "9007199254740996",
  ]);
  const constant = binsOf(field("double"), { low: "5", high: "5" }, 40);
  expect(constant.to - constant.from).toBe(1);
});

test("bins of time are calendar ranges", () => {
  const ms = (text: string) => String(Date.parse(text));
  const date = { name: "a", type: "date64[ms]" };
  const years = binsOf(date, { low: ms("1992-01-02"), high: ms("1998-12-01") }, 100);
  expect(years.width).toBe("month");
  expect(years.text(0)).toBe("1992-01-01T00:00:00");
  expect(years.text(83)).toBe("1998-12-01T00:00:00");
  expect(years.to).toBe(84);
  const days = { name: "a", type: "date32[day]" };
  const weeks = binsOf(days, { low: "11323", high: "11500" }, 100);
  expect(weeks.width).toBe("week");
  expect(weeks.text(0)).toBe("2001-01-01");
  expect(boundValue(weeks, "2001-01-08")).toBe(weeks.at(1));
  const bc = binsOf(days, { low: "-4371587", high: "2932896" }, 100);
  expect(bc.text(0)).toContain("-010000-01-01");
});

test.each([
  "date32[day]",
  "date64[ms]",
  "timestamp[s]",
  "timestamp[us, tz=Europe/Paris]",
])("bounds of %s do not depend on the browser's time zone", (type) => {
  vi.stubEnv("TZ", "America/New_York");
  const perDay = { d: 1, s: 86_400, m: 86_400_000, u: 86_400_000_000 };
  const unit = type.includes("day")
    ? "d"
    : type.includes("us")
      ? "u"
      : type.includes("ms")
        ? "m"
        : "s";
  const day = (number: number) => String(number * perDay[unit]);
  const bins = binsOf({ name: "a", type }, { low: day(18_262), high: day(18_272) }, 40);
  for (let bin = bins.from; bin <= bins.to; bin++) {
    expect(boundValue(bins, bins.text(bin))).toBe(bins.at(bin));
  }
  vi.unstubAllEnvs();
});

test("charts are suggested for the types of the columns", () => {
  const specs = suggestions(FLIGHTS).map(({ kind, x, y, aggregate }) => [kind, x, y, aggregate]);
  expect(specs).toEqual([
    ["line", "date", "delay", "mean"],
    ["bar", "origin", undefined, "count"],
    ["histogram", "delay", undefined, "count"],
    ["scatter", "delay", "distance", "count"],
    ["box", "origin", "delay", "count"],
  ]);
  expect(suggestions([{ name: "a", type: "binary" }])).toEqual([]);
  const grouped = suggestions(FLIGHTS, "distance").map(({ kind, x }) => [kind, x]);
  expect(grouped).toEqual([
    ["bar", "distance"],
    ["line", "date"],
    ["histogram", "delay"],
    ["scatter", "delay"],
    ["box", "distance"],
  ]);
  const one = suggestions([{ name: "a", type: "double" }]);
  expect(one.map(({ kind }) => kind)).toEqual(["histogram"]);
});

test("rows are grouped by the first column with few distinct values, some of them repeated", async () => {
  const fields = ["at: timestamp[us]", "id: int64", "one: string", "kind: string", "year: int32"];
  const columns = fields.map((field) => {
    const [name = "", type = ""] = field.split(": ");
    return { name, type };
  });
  const summaries: Record<string, object> = {
    id: { distinct: 20, rows: 20, nulls: 0 },
    one: { distinct: 1, rows: 20, nulls: 0 },
    kind: { distinct: 2, rows: 20, nulls: 17 },
    year: { distinct: 2, rows: 20, nulls: 0 },
  };
  const requests: string[] = [];
  vi.stubGlobal("fetch", async (url: string | Request, init?: RequestInit) => {
    const { pathname, searchParams } = new URL(String(url), "http://h");
    const { method = "GET", body } = init ?? {};
    const column = searchParams.get("column");
    requests.push([method, pathname, column ?? body].filter(Boolean).join(" "));
    if (method !== "GET") return new Response(null, { headers: { "x-query-id": "an-id" } });
    const summary = summaries[column ?? ""];
    return summary === undefined
      ? Response.json({ code: "no", detail: "no" }, { status: 400 })
      : Response.json(summary);
  });
  expect(await findGroupingColumn({ table: "t" }, columns)).toBe("kind");
  await vi.waitFor(() => expect(requests.at(-1)).toBe("DELETE /v1/query/an-id"));
  expect(requests).toEqual([
    'POST /v1/query {"table":"t","columns":["id","one","kind","year"],"limit":50000}',
    "GET /v1/query/an-id/summary id",
    "GET /v1/query/an-id/summary one",
    "GET /v1/query/an-id/summary kind",
    "DELETE /v1/query/an-id",
  ]);
  expect(await findGroupingColumn({ table: "t" }, columns.slice(0, 3))).toBeUndefined();
  // Its summary is an error.
  const unknown = { name: "unknown", type: "int8" };
  expect(await findGroupingColumn({ table: "t" }, [unknown, ...columns])).toBeUndefined();
  requests.length = 0;
  expect(await findGroupingColumn({ table: "t" }, columns.slice(0, 1))).toBeUndefined();
  expect(requests).toEqual([]);
  vi.unstubAllGlobals();
});

test("a chart keeps the columns that fit its new kind", () => {
  const bar: ChartSpec = {
    kind: "bar",
    x: "origin",
    y: "delay",
    aggregate: "mean",
    brush: { values: ["ORD"] },
  };
  expect(fitToFields(bar, FLIGHTS)).toEqual({ ...bar, group: undefined });
  expect(fitToFields({ ...bar, kind: "line" }, FLIGHTS)).toMatchObject({
    x: "date",
    y: "delay",
    brush: undefined,
  });
  expect(fitToFields({ ...bar, kind: "line" }, [{ name: "a", type: "string" }])).toBeUndefined();
});

test("a state is the same after encoding and decoding; invalid texts have no charts", () => {
  const charts: ChartSpec[] = [
    {
      kind: "line",
      x: "date",
      y: "delay",
      aggregate: "mean",
      group: "origin",
      brush: { x: ["2001-01-01", "2001-02-01"] },
    },
    {
      kind: "bar",
      x: 'a"b',
      y: undefined,
      aggregate: "count",
      group: undefined,
      brush: { values: ["x", null], isOthers: true },
    },
  ];
  expect(decodeState(encodeState(charts))).toEqual(charts);
  expect(encodeState([])).toBe("");
  for (const wrong of ["", "{", "7", '[["pie","a"]]', '[["bar",7]]']) {
    expect(decodeState(wrong)).toEqual([]);
  }
});

test("a brush becomes a predicate, also for nulls and others", () => {
  const bar: ChartSpec = { kind: "bar", x: "origin", aggregate: "count" };
  const of = (brush: ChartSpec["brush"]) => brushPredicate({ ...bar, brush }, FLIGHTS);
  expect(of({ values: ["ORD"] })).toEqual({ op: "eq", column: "origin", value: "ORD" });
  expect(of({ values: ["ORD", null] })).toEqual({
    or: [
      { op: "eq", column: "origin", value: "ORD" },
      { op: "is_null", column: "origin" },
    ],
  });
  expect(of({ values: ["ORD", "LAX"], isOthers: true })).toEqual({
    or: [
      { not: { op: "in", column: "origin", value: ["ORD", "LAX"] } },
      { op: "is_null", column: "origin" },
    ],
  });
  expect(
    brushPredicate({ ...bar, kind: "histogram", x: "delay", brush: { x: ["0", "10"] } }, FLIGHTS),
  ).toEqual({
    and: [
      { op: "ge", column: "delay", value: "0" },
      { op: "lt", column: "delay", value: "10" },
    ],
  });
});
