import { expect, test } from "vitest";
import type { Predicate } from "../src/model/predicate.js";
import type { Field } from "../src/model/schema.js";
import { cellChoices, valuesChoice, withChoice } from "../src/viewer/cell-choices.js";

const field = (type: string, nullable = true): Field => ({
  name: "c",
  type,
  nullable,
  metadata: {},
});
const labels = (type: string, text: string | null | undefined) =>
  cellChoices(field(type), text).map(({ label, value }) => `${label} ${value}`.trim());
const isNull: Predicate = { op: "is_null", column: "c" };

test("a cell offers what its type can be compared by", () => {
  const equality = ["Equals 5", "Does not equal 5"];
  const bounds = ["Greater than 5", "Less than 5"];
  for (const type of ["int64", "decimal128(38, 2)", "date32[day]", "timestamp[us, tz=UTC]"]) {
    expect(labels(type, "5"), type).toEqual([...equality, ...bounds]);
  }
  for (const type of ["string", "dictionary<values=string, indices=int32, ordered=0>"]) {
    expect(labels(type, "5"), type).toEqual(equality);
  }
  for (const type of ["list<item: int64>", "duration[s]", "month_day_nano_interval", "binary"]) {
    expect(labels(type, "5"), type).toEqual(["Is not null"]);
  }
  expect(labels("double", "NaN")).toEqual(["Equals NaN", "Does not equal NaN"]);
  expect(labels("int64", null)).toEqual(["Is null", "Is not null"]);
  // A value beyond its type's calendar has no text to compare with.
  expect(labels("date32[day]", undefined)).toEqual(["Is not null"]);
});

test("values are exact, and long ones are cut only in labels", () => {
  const digits = "9007199254740993.000000000000000001";
  expect(cellChoices(field("decimal128(38, 18)"), digits)[0]?.conjunct).toEqual({
    op: "eq",
    column: "c",
    value: digits,
  });
  expect(cellChoices(field("bool"), "false")[0]?.conjunct).toMatchObject({ value: false });
  const [equals] = cellChoices(field("string"), `${"😀".repeat(60)}`);
  expect(equals?.value).toBe(`${"😀".repeat(40)}…`);
  expect(equals?.conjunct).toMatchObject({ value: "😀".repeat(60) });
  expect(labels("string", "")).toEqual(["Equals “”", "Does not equal “”"]);
  expect(labels("string", "x".repeat(1001))).toEqual(["Is not null"]);
});

test("a choice replaces what contradicts it, and keeps the other conjuncts", () => {
  const other: Predicate = { op: "gt", column: "d", value: "1" };
  const chosen = (filter: Predicate | null, label: string, text = "5") => {
    const choice = cellChoices(field("int64"), text).find((each) => each.label === label);
    if (choice === undefined) throw new Error(`there is no choice ${label}`);
    return withChoice(filter, field("int64"), choice);
  };
  const equals: Predicate = { op: "eq", column: "c", value: "5" };
  const differs: Predicate = { or: [{ op: "ne", column: "c", value: "5" }, isNull] };
  expect(chosen(null, "Equals")).toEqual(equals);
  expect(chosen({ and: [other, { op: "gt", column: "c", value: "1" }] }, "Equals")).toEqual({
    and: [other, equals],
  });
  expect(chosen({ and: [equals, other] }, "Does not equal")).toEqual({ and: [other, differs] });
  const notSeven: Predicate = { or: [{ op: "ne", column: "c", value: "7" }, isNull] };
  expect(chosen(notSeven, "Does not equal")).toEqual({ and: [notSeven, differs] });
  const above: Predicate = { op: "ge", column: "c", value: "1" };
  const below: Predicate = { op: "le", column: "c", value: "9" };
  expect(chosen({ and: [above, below] }, "Greater than")).toEqual({
    and: [below, { op: "gt", column: "c", value: "5" }],
  });
  expect(chosen({ and: [above, below] }, "Less than")).toEqual({
    and: [above, { op: "lt", column: "c", value: "5" }],
  });
  const [, isNotNull] = cellChoices(field("int64"), null);
  if (isNotNull === undefined) throw new Error("there is no second choice");
  expect(withChoice({ and: [isNull, other] }, field("int64"), isNotNull)).toEqual({
    and: [other, { op: "not_null", column: "c" }],
  });
});

test("without nulls, nulls are not kept", () => {
  expect(cellChoices(field("int64", false), "5")[1]?.conjunct).toEqual({
    op: "ne",
    column: "c",
    value: "5",
  });
});

test("selected values become one filter", () => {
  const chosen = (texts: (string | null | undefined)[], type = "string") =>
    valuesChoice(field(type), texts);
  const isOneOf = { op: "in", column: "c", value: ["a", "b"] };
  expect(chosen(["a", "b", "a"])).toMatchObject({ value: "2 values", conjunct: isOneOf });
  expect(chosen(["a", null, "b"])).toMatchObject({
    value: "3 values",
    conjunct: { or: [isOneOf, isNull] },
  });
  expect(chosen(["true", "false"], "bool")?.conjunct).toMatchObject({ value: [true, false] });
  for (const texts of [[], ["a"], ["a", "a"], [null, null], ["a", undefined]]) {
    expect(chosen(texts), String(texts)).toBeUndefined();
  }
  expect(chosen(["a", "b"], "list<item: int64>")).toBeUndefined();
  expect(chosen(Array.from({ length: 501 }, (_, index) => String(index)))).toBeUndefined();
});
