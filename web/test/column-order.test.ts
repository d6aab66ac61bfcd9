import { expect, test } from "vitest";
import { distinctFields } from "../src/model/schema.js";
import { pinnedColumn, withColumn, withoutColumn } from "../src/viewer/column-changes.js";
import {
  allColumns,
  type ColumnsState,
  fittingColumns,
  gridColumns,
  MIN_WIDTH_PX,
  movedColumn,
  widenedColumn,
} from "../src/viewer/column-order.js";
import { seededRandom } from "./random.js";

const names = ["a", "b", "c", "d", "e"];
const fields = names.map((name) => ({ name, type: "int32", nullable: true, metadata: {} }));
const all = allColumns(fields);

test("columns move, and pinned ones stay before the others", () => {
  expect(movedColumn(all, "a", 2).shown.join("")).toBe("bcade");
  expect(movedColumn(all, "e", -1).shown.join("")).toBe("eabcd");
  const pinned = pinnedColumn(pinnedColumn(all, "d", true), "b", true);
  expect(pinned.shown.join("")).toBe("dbace");
  expect(movedColumn(pinned, "b", 0)).toMatchObject({ pinned: ["b", "d"] });
  expect(movedColumn(pinned, "b", 4).shown.join("")).toBe("dbace");
  expect(movedColumn(pinned, "e", 0).shown.join("")).toBe("dbeac");
  expect(pinnedColumn(pinned, "d", false).shown.join("")).toBe("bdace");
});

test("a hidden column returns after its predecessor", () => {
  const less = withoutColumn(withoutColumn(all, "b"), "c");
  expect(less.shown.join("")).toBe("ade");
  expect(withColumn(less, fields, "c").shown.join("")).toBe("acde");
  expect(withColumn(withoutColumn(all, "a"), fields, "a").shown.join("")).toBe("abcde");
  const one = { ...all, shown: ["c"] };
  expect(withoutColumn(one, "c")).toBe(one);
});

test("columns that a table does not have are left out", () => {
  const stored = { shown: ["x", "d", "a", "d"], pinned: ["a", "y"], widthsPx: { x: 5, a: 99 } };
  const state = fittingColumns(fields, stored);
  expect(state).toMatchObject({ shown: ["a", "d"], pinned: ["a"] });
  expect(gridColumns(fields, state).columns).toEqual([0, 3]);
  expect(gridColumns(fields, state).widthsPx[0]).toBe(99);
  expect(fittingColumns(fields, { shown: ["x"] }).shown).toEqual(names);
  expect(fittingColumns(fields, {}).shown).toEqual(names);
});

test("columns of the same name get distinct names", () => {
  const same = ["a", "a", "a (2)", "b"].map((name) => ({
    name,
    type: "int32",
    nullable: true,
    metadata: {},
  }));
  const distinct = distinctFields(same);
  expect(distinct.map(({ name }) => name)).toEqual(["a", "a (3)", "a (2)", "b"]);
  const less = withoutColumn(allColumns(distinct), "a");
  expect(gridColumns(distinct, less).columns).toEqual([1, 2, 3]);
});

test("no column becomes too narrow to be widened again", () => {
  expect(widenedColumn(all, "a", -10).widthsPx).toEqual({ a: MIN_WIDTH_PX });
  expect(widenedColumn(all, "a", 80.4).widthsPx).toEqual({ a: 80 });
});

test("after any operations, columns are shown once, and pinned ones first", () => {
  const random = seededRandom(11);
  const name = () => names[Math.floor(random() * names.length)] ?? "a";
  let state: ColumnsState = all;
  for (let round = 0; round < 2000; round++) {
    const column = name();
    const isShown = state.shown.includes(column);
    const choice = Math.floor(random() * 4);
    if (choice === 0) state = withColumn(state, fields, column);
    if (choice === 1) state = withoutColumn(state, column);
    if (choice === 2 && isShown) state = pinnedColumn(state, column, random() < 0.5);
    if (choice === 3 && isShown) state = movedColumn(state, column, Math.floor(random() * 7) - 1);
    expect(new Set(state.shown).size).toBe(state.shown.length);
    expect(state.shown.slice(0, state.pinned.length)).toEqual(state.pinned);
    expect(fittingColumns(fields, state)).toEqual(state);
  }
});
