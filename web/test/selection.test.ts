import { expect, test } from "vitest";
import {
  cellSelection,
  contains,
  extended,
  numCells,
  selectionRect,
} from "../src/grid/selection.js";

const at = (row: number, column: number) => ({ row, column });

test("a selection reaches from its anchor in any direction", () => {
  const selection = extended(cellSelection(at(5, 3)), at(2, 7));
  const rect = selectionRect(selection, 100, 10);
  expect(rect).toEqual({ rowStart: 2, rowEnd: 6, columnStart: 3, columnEnd: 8 });
  expect(numCells(rect)).toBe(20);
  expect(contains(rect, 5, 7)).toBe(true);
  expect(contains(rect, 6, 7)).toBe(false);
});

test("rows stay whole rows vertically, and become cells sideways", () => {
  const rows = { kind: "rows" as const, anchor: at(2, 0), head: at(2, 0) };
  const longer = extended(rows, at(4, 0));
  expect(selectionRect(longer, 100, 10)).toEqual({
    rowStart: 2,
    rowEnd: 5,
    columnStart: 0,
    columnEnd: 10,
  });
  expect(extended(longer, at(4, 1)).kind).toBe("cells");
});

test("columns and all grow with the rows", () => {
  const columns = { kind: "columns" as const, anchor: at(0, 2), head: at(0, 1) };
  expect(selectionRect(columns, 100, 10)).toMatchObject({
    rowEnd: 100,
    columnStart: 1,
    columnEnd: 3,
  });
  expect(selectionRect(columns, 2e9, 10).rowEnd).toBe(2e9);
  expect(numCells(selectionRect({ ...columns, kind: "all" }, 100, 10))).toBe(1000);
});

test("extending a selection of all makes a range of cells", () => {
  const all = { kind: "all" as const, anchor: at(0, 0), head: at(3, 3) };
  expect(extended(all, at(3, 4))).toMatchObject({ kind: "cells", head: at(3, 4) });
});
