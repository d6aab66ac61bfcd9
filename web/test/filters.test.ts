import { expect, test } from "vitest";
import type { Predicate } from "../src/model/predicate.js";
import { filterKindOf, isSortableType } from "../src/model/schema.js";
import {
  choiceOfForm,
  conjunctsOfForm,
  EMPTY_FORM,
  type FilterForm,
  formOfChoice,
  formOfConjuncts,
  listOfValues,
  type TextOp,
  valuesOfList,
} from "../src/viewer/filter-form.js";
import { filterValue } from "../src/viewer/filter-values.js";
import {
  columnsOf,
  conjunction,
  conjunctsOf,
  conjunctsOfColumn,
  withConjuncts,
  withoutConjunct,
} from "../src/viewer/filters.js";
import { describePredicate } from "../src/viewer/predicate-words.js";
import { describe } from "../src/viewer/sorting.js";
import { withChecked } from "../src/viewer/value-list.js";
import { seededRandom } from "./random.js";

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
  const search: Predicate = { op: "matches", value: "x" };
  expect([...columnsOf({ or: [search, from] }, ["b", "c"])]).toEqual(["b", "c", "a"]);
  expect(withConjuncts({ and: [search, from] }, "a", [])).toEqual(search);
  expect(describe({ sort: [], filter: search })).toBe("filtered");
});

const field = (type: string) => ({ name: "c", type, nullable: true, metadata: {} });
const TYPES = { range: "decimal128(30, 2)", text: "string", boolean: "bool", nulls: "binary" };
const empty = EMPTY_FORM;

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
      [],
    ],
    [
      "range",
      [
        { op: "not_null", column: c },
        { op: "ne", column: c, value: 5 },
      ],
      [1],
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
      [1],
    ],
    ["text", [{ op: "eq", column: c, value: "" }], []],
    ["text", [{ not: { op: "starts_with", column: c, value: "a" } }], [0]],
    ["text", [{ op: "in", column: c, value: [] }], [0]],
    ["text", [{ op: "matches", columns: [c], value: "a" }], [0]],
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
  expect(describePredicate({ and: [from, { not: from }] })).toBe("a ≥ 1 and not (a ≥ 1)");
  expect(describePredicate(both)).toBe("a is null or b contains “x”");
  expect(describePredicate({ op: "in", column: "c", value: [1, 2] })).toBe("c is one of 1, 2");
  const others = { or: [{ not: { ...from, op: "eq" } }, { op: "is_null", column: "a" }] } as const;
  expect(describePredicate(others)).toBe("a ≠ 1");
  const many = Array.from({ length: 12 }, (_, index) => index);
  expect(describePredicate({ op: "in", column: "c", value: many })).toMatch(/ 8, 9 and 2 more$/);
  const one = { op: "in", column: "c", value: ["x"] } as const;
  expect(describePredicate(one)).toBe("c = x");
  expect(describePredicate({ not: one })).toBe("c ≠ x and is not null");
  expect(describePredicate({ not: { ...one, value: [""] } })).toBe(
    "c is not empty and is not null",
  );
  const matches = { op: "matches", value: "x" } as const;
  expect(describePredicate(matches)).toBe("any column contains “x”");
  expect(describePredicate({ ...matches, columns: ["a", "b"] })).toBe("a or b contains “x”");
  const columns = ["a", "b", "c", "d"];
  expect(describePredicate({ ...matches, columns })).toBe("one of 4 columns contains “x”");
});

test.each<[TextOp, string]>([
  ["contains", "c contains “a, b”"],
  ["not_contains", "c does not contain “a, b”"],
  ["starts_with", "c starts with “a, b”"],
  ["eq", "c = a, b"],
  ["ne", "c ≠ a, b"],
  ["in", "c is one of a, b"],
  ["not_in", "c is none of a, b"],
  ["empty", "c is empty"],
  ["not_empty", "c is not empty"],
])("the chip of the condition %s", (op, words) => {
  const conjuncts = (nulls: FilterForm["nulls"]) =>
    conjunctsOfForm(field("string"), { ...empty, op, text: "a, b", nulls });
  expect(conjuncts("any").map(describePredicate)).toEqual([words]);
  const keepsNulls = "or" in (conjuncts("any")[0] ?? {});
  expect(conjuncts("none").map(describePredicate).join()).toBe(
    keepsNulls ? `${words} and is not null` : `c is not null,${words}`,
  );
});

/** Whether a predicate is true for the value of a row, as in SQL. */
function passes(predicate: Predicate, value: string | null): boolean {
  const truth = (each: Predicate): boolean | null => {
    if ("and" in each || "or" in each) {
      const isOr = "or" in each;
      const parts = (isOr ? each.or : each.and).map(truth);
      return parts.includes(isOr) ? isOr : parts.includes(null) ? null : !isOr;
    }
    if ("not" in each) {
      const inner = truth(each.not);
      return inner === null ? null : !inner;
    }
    if (each.op === "is_null") return value === null;
    if (each.op === "not_null") return value !== null;
    if (value === null) return null;
    if (each.op === "in") return each.value.includes(value);
    if (each.op === "contains") return value.includes(each.value);
    if (each.op === "starts_with") return value.startsWith(each.value);
    if (each.op === "eq") return value === each.value;
    if (each.op === "ne") return value !== each.value;
    throw new Error(`A form for texts does not make ${each.op}.`);
  };
  return truth(predicate) === true;
}

const VALUES = ["a", "b, c", ' " ', "", '""', "line\nbreak", "a, b", "null", " x", "é"];
const OPS: TextOp[] = ["contains", "not_contains", "starts_with", "eq", "ne", "in", "not_in"];

test("drawn conditions on texts exclude what they say, keep nulls, and come back", () => {
  const random = seededRandom(5);
  const draw = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T;
  const column = field("string");
  for (let round = 0; round < 2000; round++) {
    const values = VALUES.filter(() => random() < 0.3);
    const op = draw<TextOp>([...OPS, "empty", "not_empty"]);
    const isList = op === "in" || op === "not_in";
    const text = isList ? listOfValues(values) : draw(VALUES);
    const nulls = draw(["any", "none", "only", "also"] as const);
    const form = { ...empty, op, text, nulls };
    const what = JSON.stringify(form);
    const made = conjunctsOfForm(column, form);
    const content = formOfConjuncts(column, made);
    expect(content.others, what).toEqual([]);
    expect(conjunctsOfForm(column, content.form), what).toEqual(made);
    const passing = [...VALUES, null].filter((value) => made.every((each) => passes(each, value)));
    const isEmptyOp = op === "empty" || op === "not_empty";
    const isCondition = isEmptyOp || (isList ? values.length > 0 : text !== "");
    const base = op.replace("not_", "").replace("ne", "eq");
    const isExcluding = op === "ne" || op.startsWith("not_");
    const wanted = [...VALUES, null].filter((value) => {
      if (nulls === "only") return value === null;
      if (value === null) {
        if (nulls === "none") return false;
        return nulls === "also" || isExcluding || !isCondition;
      }
      if (!isCondition) return true;
      const isMatch = {
        contains: value.includes(text),
        starts_with: value.startsWith(text),
        eq: value === text,
        in: values.includes(value),
        empty: value === "",
      }[base];
      return isMatch !== isExcluding;
    });
    expect(passing, what).toEqual(wanted);
  }
});

test("drawn checks in the list of values are what the filter lets pass, and come back", () => {
  const random = seededRandom(6);
  const column = field("dictionary<values=string, indices=int32, ordered=0>");
  const all = [...VALUES, null];
  for (let round = 0; round < 1000; round++) {
    let checked = new Set(random() < 0.5 ? all : []);
    const isAll = checked.size > 0;
    let choice = {
      isExcluding: isAll,
      values: new Set<string>() as ReadonlySet<string>,
      hasNull: isAll,
    };
    for (let step = random() * 6; step > 0; step--) {
      const changed = all.filter(() => random() < 0.2);
      const isChecked = random() < 0.5;
      choice = withChecked(choice, isChecked, changed);
      checked = new Set(
        all.filter((value) => (changed.includes(value) ? isChecked : checked.has(value))),
      );
      // Each change goes through the fields of the form.
      choice = choiceOfForm(formOfChoice(choice)) as typeof choice;
    }
    const made = conjunctsOfForm(column, formOfChoice(choice));
    const what = JSON.stringify(made);
    // Nothing is chosen, so there is no condition.
    if (checked.size === 0) expect(choice.isExcluding ? [] : made, what).toEqual([]);
    if (checked.size === 0) continue;
    const passing = all.filter((value) => made.every((each) => passes(each, value)));
    expect(passing, what).toEqual(all.filter((value) => checked.has(value)));
    const content = formOfConjuncts(column, made);
    expect(content.others, what).toEqual([]);
    const again = choiceOfForm(content.form);
    const isShown = (value: string | null) =>
      value === null ? again.hasNull : again.values.has(value) !== again.isExcluding;
    expect(all.filter(isShown), what).toEqual(passing);
  }
});

test("a list of values is separated by commas, and quoted where it must be", () => {
  expect(valuesOfList(' a, "b, c" ,, d"e, a, "x"y , "say ""no""",')).toEqual([
    "a",
    "b, c",
    'd"e',
    '"x"y',
    'say "no"',
  ]);
  expect(valuesOfList("")).toEqual([]);
  expect(valuesOfList('""')).toEqual([""]);
  expect(valuesOfList(listOfValues(VALUES))).toEqual(VALUES);
  expect(listOfValues(["a", "b, c", ""])).toBe('a, "b, c", ""');
});

test("a number or a day is excluded without the nulls", () => {
  const made = (type: string, not: string, nulls: FilterForm["nulls"] = "any") => {
    const conjuncts = conjunctsOfForm(field(type), { ...empty, not, nulls, to: "" });
    const { form, others } = formOfConjuncts(field(type), conjuncts);
    expect([form.not, form.nulls, others]).toEqual([not.trim(), nulls, []]);
    return conjuncts.map(describePredicate).join("; ");
  };
  expect(made("int64", " 5 ")).toBe("c ≠ 5");
  expect(made("int64", "5", "none")).toBe("c ≠ 5 and is not null");
  expect(made("date32[day]", "2025-03-31")).toBe("c ≠ 2025-03-31");
  const day = "c < 2025-03-31 or c ≥ 2025-04-01";
  expect(made("timestamp[us]", "2025-03-31")).toBe(`${day} or c is null`);
  expect(made("timestamp[us]", "2025-03-31", "none")).toBe(day);
  expect(made("timestamp[us]", "2025-03-31 12:00")).toBe("c ≠ 2025-03-31 12:00");
  expect(() => made("int64", "five")).toThrow("is not a number");
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
