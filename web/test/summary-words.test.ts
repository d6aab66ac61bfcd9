import { tableFromArrays, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import type { Predicate } from "../src/model/predicate.js";
import type { Field } from "../src/model/schema.js";
import type { Summary } from "../src/model/summary.js";
import { conjunctsOfForm, formOfConjuncts } from "../src/viewer/filter-form.js";
import {
  chosenBins,
  columnSummary,
  conjunctsOfBins,
  percent,
} from "../src/viewer/summary-words.js";
import { seededRandom } from "./random.js";
import { rowsOf } from "./rows.js";

const field = (type: string): Field => ({ name: "c", type, nullable: true, metadata: {} });

const base = {
  column: "c",
  rows: 1000,
  nulls: 20,
  distinct_is_approximate: true as const,
  mean: null,
};

const numbers: Summary = {
  ...base,
  type: "decimal128(5, 2)",
  distinct: 400,
  min: "1.00",
  max: "9.99",
  histogram: { edges: ["1.00", "4.00", "7.00", "10.00"], counts: [500, 480, 0] },
};

const texts: Summary = {
  ...base,
  type: "string",
  distinct: 3,
  min: "",
  max: "b",
  top: [
    { value: "b", count: 600 },
    { value: "a", count: 379 },
    { value: "", count: 1 },
  ],
};

const draw = (summary: Summary, filter: Predicate | null = null, within?: Summary) =>
  columnSummary({ field: field(summary.type), summary, within, filter, isGrowing: false });

const details = (summary: Summary) => draw(summary).details;

test("quartiles, empty texts and lengths are exact texts, with a mark if they are estimated", () => {
  const quartiles = { lower: "3", median: "17.5", upper: "40", is_approximate: false };
  expect(details({ ...numbers, quartiles })).toEqual([
    "1.00 to 9.99",
    "quartiles 3, 17.5, 40",
    "≈ 400 distinct, 20 null (2.0 %)",
    "1,000 rows",
  ]);
  const estimated = { ...quartiles, is_approximate: true };
  expect(details({ ...numbers, quartiles: estimated })).toContain("quartiles ≈ 3, 17.5, 40");
  expect(details({ ...numbers, quartiles, min: "3", max: "3" })).not.toContainEqual(
    expect.stringContaining("quartiles"),
  );
  const exact = { ...numbers, distinct_is_approximate: false };
  expect(details(exact)).toContain("400 distinct, 20 null (2.0 %)");
  const same = { ...numbers, distinct: 1, min: "7.00", max: "7.00" };
  expect(details(same)).toEqual(["all 7.00", "1 distinct, 20 null (2.0 %)", "1,000 rows"]);
  expect(details({ ...same, distinct: 2, nan: 3, infinite: 0 })[1]).toContain("≈ 2 distinct");
  const lengths = { min: 2, lower: 5, median: 1100, upper: 1200, max: 4000, is_approximate: false };
  expect(details({ ...texts, empties: 12, lengths })).toEqual([
    "“” to b",
    "lengths 2 to 4,000, median 1,100",
    "3 distinct, 20 null (2.0 %), 12 empty",
    "1,000 rows",
  ]);
  const about = details({ ...texts, lengths: { ...lengths, is_approximate: true } });
  expect(about).toContain("lengths 2 to 4,000, median ≈ 1,100");
  expect(details({ ...texts, lengths: { ...lengths, max: 2 } })).toContain("length 2");
});

test("bins are described by bounds, rows and share", () => {
  const { words, bins, start, end, caption, description, canChoose } = draw(numbers);
  expect(words(0, 0)).toEqual(["1.00 to below 4.00", "500 rows (50 %)"]);
  expect(words(1, 2)).toEqual(["4.00 to 9.99", "480 rows (48 %)"]);
  expect(bins.map(({ numShown }) => numShown)).toEqual([undefined, undefined, undefined]);
  expect([start, end, ...caption]).toEqual(["1.00", "9.99", "2.0 % null", "≈ 400", "distinct"]);
  expect(description).toBe("1.00 to 9.99, ≈ 400 distinct, 20 null (2.0 %), 1,000 rows");
  expect(canChoose).toBe(true);
});

test("frequent values are exact if there are no others", () => {
  const { words, start, end, caption } = draw(texts);
  expect([start, end, ...caption]).toEqual(["b", "60 %", "2.0 % null", "3", "distinct"]);
  expect(words(2, 2)).toEqual(["“”", "1 row (0.1 %)"]);
});

test("filtered rows are compared with all rows", () => {
  const left = { ...texts, rows: 40, nulls: 0, top: [{ value: "a", count: 40 }] };
  const { words, bins, description } = draw(texts, null, left);
  expect(bins.map(({ numShown }) => numShown)).toEqual([0, 40, 0]);
  expect(words(1, 1)).toEqual(["a", "40 of 379 rows (11 %)"]);
  expect(description).toContain("40 rows shown");
});

test("chosen bins are recognised in the filter that they make", () => {
  for (const summary of [numbers, texts]) {
    for (let first = 0; first < 3; first++) {
      for (let last = first; last < 3; last++) {
        const parts = conjunctsOfBins(summary, field(summary.type), first, last);
        const filter = { and: [...parts, { op: "is_null" as const, column: "d" }] };
        expect(chosenBins(summary, field(summary.type), filter)).toEqual([first, last]);
      }
    }
    const other: Predicate = { op: "contains", column: "c", value: "b" };
    expect(chosenBins(summary, field(summary.type), other)).toBeUndefined();
    expect(chosenBins(summary, field(summary.type), null)).toBeUndefined();
  }
  const boolean = { ...texts, type: "bool", top: [{ value: "true", count: 980 }] };
  const parts = conjunctsOfBins(boolean, field("bool"), 0, 0);
  expect(parts).toEqual([{ op: "eq", column: "c", value: true }]);
  expect(chosenBins(boolean, field("bool"), parts[0] ?? null)).toEqual([0, 0]);
});

test("a column's filter form understands the bound of a bin", () => {
  const parts = conjunctsOfBins(numbers, field(numbers.type), 0, 0);
  const { form } = formOfConjuncts(field(numbers.type), parts);
  expect([form.from, form.to]).toEqual(["1.00", "< 4.00"]);
  expect(conjunctsOfForm(field(numbers.type), form)).toEqual(parts);
});

test("bins of durations and decimal256 cannot be chosen", () => {
  for (const type of ["duration[s]", "decimal256(76, 3)"]) {
    expect(draw({ ...numbers, type }).canChoose).toBe(false);
  }
});

test("if room is little, long numbers are rounded and timestamps cut to their day", () => {
  const ends = (type: string, min: string, max: string) => {
    const { start, end } = draw({ ...numbers, type, min, max });
    return [start, end];
  };
  expect(ends("int64", "-9223372036854775808", "5")).toEqual(["-9.22e+18", "5"]);
  expect(ends("decimal128(15, 2)", "901.00", "1104949.50")).toEqual(["901", "1.1M"]);
  expect(ends("int64", "210349", "435291")).toEqual(["210K", "435K"]);
  expect(ends("int64", "210349", "210352")).toEqual(["210349", "210352"]);
  expect(ends("int64", "-1116", "1688")).toEqual(["-1116", "1688"]);
  expect(ends("timestamp[s]", "2001-01-01 00:00:00", "2001-07-01 00:00:00")).toEqual([
    "2001-01-01",
    "2001-07-01",
  ]);
  expect(ends("date32[day]", "2001-01-01", "2001-01-01")).toEqual(["2001-01-01", ""]);
});

test("shares never round to 0 % or 100 %", () => {
  expect(percent(0, 10)).toBe("0 %");
  expect(percent(1, 10_000_000)).toBe("< 0.1 %");
  expect(percent(9_999_999, 10_000_000)).toBe("> 99.9 %");
  expect(percent(10, 10)).toBe("100 %");
  expect(percent(143, 1000)).toBe("14 %");
});

test("every word counts the rows that pass the filter", async () => {
  const random = seededRandom(1);
  const below = (end: number) => Math.floor(random() * end);
  for (let draws = 0; draws < 25; draws++) {
    const length = 1 + below(6000);
    const numKinds = 1 + below(random() < 0.5 ? 12 : 3 * length);
    const numbers = Array.from({ length }, () => below(numKinds));
    const columns = { n: Int32Array.from(numbers), s: numbers.map((n) => `k${n}`) };
    const table = await rowsOf(tableToIPC(tableFromArrays(columns), "stream"));
    const bound = below(numKinds + 1);
    const view = await table.filter({ op: "lt", column: "n", value: bound });
    const kept = numbers.filter((n) => n < bound);
    for (const column of ["n", "s"]) {
      const [summary, within] = await Promise.all([table.summary(column), view.summary(column)]);
      const { words, bins, start, end, caption, details } = draw(summary, null, within);
      const numDistinct = new Set(kept).size;
      const [count = "", unit] = caption;
      const isExact = !count.startsWith("≈");
      const stated = Number(count.replace(/[^\d]/g, ""));
      const what = `${draws} ${column} ${JSON.stringify([length, numKinds, bound, caption, details])}`;
      expect(unit, what).toBe("distinct");
      expect(details.join(), what).toContain(`${count} distinct`);
      expect(stated, what).toBeLessThanOrEqual(kept.length);
      if (isExact) expect(stated, what).toBe(numDistinct);
      else expect(Math.abs(stated - numDistinct), what).toBeLessThanOrEqual(numDistinct / 10 + 2);
      expect(details.at(-1), what).toMatch(new RegExp(`^${written(kept.length)} rows? shown$`));
      const isOf = (label: string) => (n: number) => isInLabel(label, column, n);
      bins.forEach((_, bin) => {
        const [label = "", word] = words(bin, bin);
        const [shown, all] = [kept, numbers].map((list) => list.filter(isOf(label)).length);
        const share = percent(shown ?? 0, all ?? 0);
        const rows = `${written(all ?? 0)} ${all === 1 ? "row" : "rows"}`;
        expect(word, `${what} ${label}`).toBe(`${written(shown ?? 0)} of ${rows} (${share})`);
      });
      if (column !== "s" || start === "") continue;
      const shown = kept.filter((n) => `k${n}` === start).length;
      const most = Math.max(
        ...(summary.top ?? []).map(({ value }) => kept.filter((n) => `k${n}` === value).length),
      );
      expect([shown, end], what).toEqual([most, percent(most, kept.length)]);
    }
  }
});

const written = (count: number) => count.toLocaleString("en");

/** Whether a value is in the bin with that label. */
function isInLabel(label: string, column: string, n: number): boolean {
  if (column === "s") return label === `k${n}`;
  const [from = "", to = from] = label.split(" to ");
  const isBelow = to.startsWith("below ");
  const end = Number(to.replace("below ", ""));
  return n >= Number(from) && (isBelow ? n < end : n <= end);
}
