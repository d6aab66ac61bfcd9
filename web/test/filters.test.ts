import { expect, test } from "vitest";
import { filterKindOf, isSortableType } from "../src/model/schema.js";
import { conjunctsOfForm, type FilterForm, formOfConjuncts } from "../src/viewer/column-form.js";
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
  const parts = conjunctsOfForm(kind, "c", form);
  expect(parts).toHaveLength(numParts);
  expect(conjunctsOfForm(kind, "c", formOfConjuncts(parts))).toEqual(parts);
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
