import { expect, test } from "vitest";
import {
  ColumnLayout,
  columnWidthPx,
  MAX_COLUMN_PX,
  MIN_COLUMN_PX,
  MIN_SCROLLED_PX,
} from "../src/grid/columns.js";
import { isNumericType } from "../src/model/schema.js";
import { seededRandom } from "./random.js";

test("visible columns match a linear search, for any position", () => {
  const random = seededRandom(7);
  const widths = Array.from({ length: 2000 }, () => 60 + Math.floor(random() * 360));
  const layout = new ColumnLayout(widths);
  for (let round = 0; round < 500; round++) {
    const leftPx = Math.floor(random() * layout.totalPx);
    const viewportPx = 1 + Math.floor(random() * 2000);
    const expected = widths
      .map((_, column) => column)
      .filter(
        (column) =>
          layout.leftPx(column + 1) > leftPx && layout.leftPx(column) < leftPx + viewportPx,
      );
    const { start, end } = layout.visible(leftPx, viewportPx);
    expect([start, end]).toEqual([expected[0], (expected.at(-1) ?? 0) + 1]);
  }
});

test("pinned columns do not move, and the others scroll beneath them", () => {
  const layout = new ColumnLayout([100, 50, 100, 100, 100], 2);
  expect(layout.visible(0, 300)).toEqual({ start: 2, end: 4 });
  expect(layout.visible(120, 300)).toEqual({ start: 3, end: 5 });
  expect(layout.placePx(1, 120)).toBe(220);
  expect(layout.placePx(3, 120)).toBe(250);
  expect(layout.reveal(0, 120, 300)).toBe(120);
  expect(layout.reveal(2, 120, 300)).toBe(0);
  expect(layout.reveal(4, 0, 300)).toBe(150);
  expect(new ColumnLayout([100, 50], 2).visible(0, 300)).toEqual({ start: 2, end: 2 });
});

test("without columns, none are visible", () => {
  expect(new ColumnLayout([]).visible(0, 800)).toEqual({ start: 0, end: 0 });
  expect(new ColumnLayout([]).totalPx).toBe(0);
});

test("a column is revealed by the smallest movement, a wide one from its start", () => {
  const layout = new ColumnLayout([100, 100, 100, 400]);
  expect(layout.reveal(1, 0, 250)).toBe(0);
  expect(layout.reveal(2, 0, 250)).toBe(50);
  expect(layout.reveal(0, 50, 250)).toBe(0);
  expect(layout.reveal(3, 0, 250)).toBe(300);
});

test("widths stay within their bounds", () => {
  expect(columnWidthPx(3, 20)).toBe(MIN_COLUMN_PX);
  expect(columnWidthPx(100.2, 20)).toBe(121);
  expect(columnWidthPx(9000, 20)).toBe(MAX_COLUMN_PX);
});

test.each([
  ["int8", true],
  ["uint64", true],
  ["halffloat", true],
  ["float", true],
  ["double", true],
  ["decimal128(12, 2)", true],
  ["decimal256(76, 38)", true],
  ["dictionary<values=int32, indices=int8, ordered=0>", true],
  ["run_end_encoded<run_ends: int32, values: double>", true],
  ["dictionary<values=string, indices=int32, ordered=0>", false],
  ["run_end_encoded<run_ends: int32, values: string>", false],
  ["extension<acme.parrot[storage_type=int32]>", true],
  ["extension<arrow.uuid>", false],
  ["interval[month_day_nano]", false],
  ["string", false],
  ["bool", false],
  ["timestamp[us, tz=UTC]", false],
  ["list<item: int64>", false],
  ["fixed_size_binary[16]", false],
])("%s reads as a number: %s", (type, expected) => {
  expect(isNumericType(type)).toBe(expected);
});

test("columns stay pinned while they leave room for the others", () => {
  const widthsPx = [100, 100, 100, 100];
  const numPinned = (viewportPx: number) => new ColumnLayout(widthsPx, 3, viewportPx).numPinned;
  expect(numPinned(Number.POSITIVE_INFINITY)).toBe(3);
  expect(numPinned(300 + MIN_SCROLLED_PX)).toBe(3);
  expect(numPinned(299 + MIN_SCROLLED_PX)).toBe(2);
  expect(numPinned(99 + MIN_SCROLLED_PX)).toBe(0);
});
