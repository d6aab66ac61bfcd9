import { expect, test } from "vitest";
import type { Predicate } from "../src/model/predicate.js";
import { filterKindOf, isSortableType } from "../src/model/schema.js";
import { conjunctsOfForm, type FilterForm, formOfConjuncts } from "../src/viewer/filter-form.js";
import { filterValue } from "../src/viewer/filter-values.js";
import {
  conjunction,
  conjunctsOf,
  conjunctsOfColumn,
  describePredicate,
  withConjuncts,
  withoutConjunct,
} from "../src/viewer/filters.js";

const from = { op: "ge", column: "a", value: "1" } as const;
const to = { op: "le", column: "a", value: "9" } as const;
const other = { op: "contains", column: "b", value: "x" } as const;
const both = { or: [{ op: "is_null", column: "a" }, other] } as const;

test("a column's new filter replaces only its old one", () => {
  const all = conjunction([from, other, both, to]);
  expect(conjunctsOfColumn(all, "a")).toEqual([from, to]);
  expect(withConjuncts(all, "a", [])).toEqual({ and: [other, both] });
  expect(withConjuncts(all, "b", [])).toEqual({ and: [from, both, to] });
  expect(withConjuncts(null, "a", [from])).toEqual(from);
  expect(withConjuncts(from, "a", [])).toBeNull();
  expect(withoutConjunct({ and: [from, { and: [to, other] }] }, to)).toEqual({
    and: [from, other],
  });
  expect(conjunctsOf(null)).toEqual([]);
});

const field = (type: string) => ({ name: "c", type, nullable: true, metadata: {} });
const TYPES = { range: "decimal128(30, 2)", text: "string", boolean: "bool", nulls: "binary" };
const empty: FilterForm = { from: "", to: "", op: "contains", text: "", values: [], nulls: "any" };

test.each([
  ["range", { ...empty, from: " 12345678901234567890 ", to: "2" }, 2],
  ["range", { ...empty, nulls: "only" }, 1],
  ["range", { ...empty, nulls: "none", to: "5" }, 2],
  ["text", { ...empty, op: "starts_with", text: " a" }, 1],
  ["boolean", { ...empty, values: ["false"] }, 1],
  ["boolean", { ...empty, values: ["true", "null"] }, 1],
  ["boolean", { ...empty, values: ["true", "false"] }, 1],
  ["boolean", { ...empty, values: ["true", "false", "null"] }, 0],
  ["nulls", { ...empty, nulls: "none" }, 1],
  ["range", empty, 0],
] as const)("a form of kind %s comes back as it was: %o", (kind, form, numParts) => {
  const column = field(TYPES[kind]);
  const parts = conjunctsOfForm(column, form);
  expect(parts).toHaveLength(numParts);
  const content = formOfConjuncts(column, parts);
  expect(conjunctsOfForm(column, content.form)).toEqual(parts);
  expect(content.others).toEqual([]);
});

test("conjuncts that a form cannot express are left alone", () => {
  const c = "c";
  const cases: [keyof typeof TYPES, Predicate[], others: number[]][] = [
    ["range", [{ op: "eq", column: c, value: 5 }], [0]],
    [
      "range",
      [
        { op: "ne", column: c, value: 5 },
        { op: "ge", column: c, value: 5 },
      ],
      [0],
    ],
    [
      "range",
      [
        { op: "gt", column: c, value: "5" },
        { op: "lt", column: c, value: "7" },
      ],
      [],
    ],
    [
      "range",
      [
        { op: "ge", column: c, value: 5 },
        { op: "ge", column: c, value: 6 },
      ],
      [1],
    ],
    [
      "range",
      [
        { op: "le", column: c, value: 5 },
        { op: "lt", column: c, value: 6 },
      ],
      [1],
    ],
    [
      "range",
      [
        { op: "in", column: c, value: [1, 2] },
        { op: "not_null", column: c },
      ],
      [0],
    ],
    ["range", [{ not: { op: "ge", column: c, value: 5 } }], [0]],
    [
      "text",
      [
        { op: "in", column: c, value: ["a"] },
        { op: "contains", column: c, value: "b" },
      ],
      [0],
    ],
    ["text", [{ op: "eq", column: c, value: "" }], [0]],
    [
      "text",
      [
        { op: "contains", column: c, value: "a" },
        { op: "eq", column: c, value: "b" },
      ],
      [1],
    ],
    ["text", [{ op: "gt", column: c, value: "a" }], [0]],
    ["boolean", [{ op: "ne", column: c, value: true }], [0]],
    ["boolean", [{ op: "eq", column: c, value: true }], []],
  ];
  for (const [kind, conjuncts, indices] of cases) {
    const { form, edited, others } = formOfConjuncts(field(TYPES[kind]), conjuncts);
    const what = JSON.stringify(conjuncts);
    expect(others, what).toEqual(indices.map((index) => conjuncts[index]));
    expect(edited.length + others.length, what).toBe(conjuncts.length);
    expect(String(conjunctsOfForm(field(TYPES[kind]), form).length), what).toBe(
      String(edited.length),
    );
  }
});

test("a day is the whole day of timestamps, and is shown as it was typed", () => {
  const bounds = (type: string, from: string, to: string) => {
    const made = conjunctsOfForm(field(type), { ...empty, from, to });
    const { form } = formOfConjuncts(field(type), made);
    const texts = made.map((each) => ("value" in each ? `${each.op} ${each.value}` : ""));
    return [...texts, form.from, form.to];
  };
  const day = ["2025-03-31", "2025-03-31"] as const;
  expect(bounds("timestamp[us, tz=UTC]", ...day)).toEqual([
    "ge 2025-03-31",
    "lt 2025-04-01",
    ...day,
  ]);
  expect(bounds("date32[day]", ...day)).toEqual(["ge 2025-03-31", "le 2025-03-31", ...day]);
  expect(bounds("timestamp[s]", "9999-12-31", "9999-12-31")[1]).toBe("lt 10000-01-01");
  expect(bounds("timestamp[s]", "> 2024-02-28", "< 2024-03-01")).toEqual([
    "ge 2024-02-29",
    "lt 2024-03-01",
    "2024-02-29",
    "2024-02-29",
  ]);
  const times = ["2025-03-31 08:00", "2025-03-31 09:30:00.5"] as const;
  expect(bounds("timestamp[ns]", ...times)).toEqual([`ge ${times[0]}`, `le ${times[1]}`, ...times]);
});

test("dates in the order of the page's language, and refusals that name a form that works", () => {
  const value = (typed: string, language = "en-US", type = "timestamp[us]") =>
    filterValue(typed, type, language);
  expect(value("01.03.2025")).toBe("2025-03-01");
  expect(value("1. 3. 2025", "cs")).toBe("2025-03-01");
  expect(value("03/01/2025")).toBe("2025-03-01");
  expect(value("01/03/2025", "en-GB")).toBe("2025-03-01");
  expect(value("2025/3/1", "ja")).toBe("2025-03-01");
  expect(value("2025/3/1", "fa")).toBe("2025-03-01");
  expect(value("2941775-04-07", "en", "date32[day]")).toBe("2941775-04-07");
  expect(value("2025-3-1")).toBe("2025-03-01");
  expect(value("01.03.2025 9:05", "de")).toBe("2025-03-01 09:05");
  expect(value("2025-03-01T09:05:00+0200")).toBe("2025-03-01 09:05:00+02:00");
  for (const typed of ["31.02.2025", "2025-13-01", "1.3.25", "soon", "2025-03-01 25:00"]) {
    expect(() => value(typed, "de"), typed).toThrow(/Write it like 2025-03-01 .* or 1\.3\.2025/);
  }
  expect(() => value("2025-03-01 12:00", "en", "date32[day]")).toThrow("is not a date");
  expect(() => value("1,5", "de", "double")).toThrow("Write it like 1234.5");
  for (const number of ["-1", "+.5", "1e300", "nan", "-Infinity", "12345678901234567890123"]) {
    expect(value(number, "en", "double")).toBe(number);
  }
});

test("predicates as text", () => {
  expect(describePredicate({ and: [from, { not: other }] })).toBe("a ≥ 1 and not (b contains “x”)");
  expect(describePredicate(both)).toBe("a is null or b contains “x”");
  expect(describePredicate({ op: "in", column: "c", value: [1, 2] })).toBe("c is one of 1, 2");
});

test("types and their filters", () => {
  const kinds = {
    range: ["int64", "decimal128(15, 2)", "date32[day]", "timestamp[us, tz=UTC]", "time64[ns]"],
    text: ["string", "string_view", "dictionary<values=string, indices=int32, ordered=0>"],
    boolean: ["bool", "run_end_encoded<run_ends: int32, values: bool>"],
    nulls: ["duration[s]", "binary", "list<item: string>", "struct<text: string>", "null"],
  };
  for (const [kind, types] of Object.entries(kinds)) {
    for (const type of types) expect(filterKindOf(type), type).toBe(kind);
  }
});

test("types without an order are not sortable", () => {
  for (const type of [
    "null",
    "list<item: int64>",
    "large_list_view<item: string>",
    "map<string, int64>",
  ]) {
    expect(isSortableType(type), type).toBe(false);
  }
  for (const type of ["bool", "binary", "duration[s]", "dictionary<values=string, indices=int8>"]) {
    expect(isSortableType(type), type).toBe(true);
  }
});
