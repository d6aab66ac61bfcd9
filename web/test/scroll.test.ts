import { describe, expect, test } from "vitest";
import {
  clampTopRow,
  EDGE_PX,
  MAX_SPACER_PX,
  maxTopRow,
  movedBy,
  revealRow,
  type ScrollGeometry,
  scrolledTo,
  scrollTopFor,
  spacerPx,
  topRowFor,
  visibleRows,
} from "../src/grid/scroll.js";
import { seededRandom } from "./random.js";

const ROW_HEIGHT_PX = 30;
const VIEWPORT_PX = 600;

function geometry(numRows: number): ScrollGeometry {
  return { numRows, rowHeightPx: ROW_HEIGHT_PX, viewportPx: VIEWPORT_PX };
}

const COUNTS = [0, 1, 19, 20, 21, 1000, 266_666, 266_667, 333_334, 10_000_000, 1_000_000_000];

describe.each(COUNTS)("%i rows", (numRows) => {
  const shape = geometry(numRows);
  const lowest = maxTopRow(shape);
  const endPx = Math.max(0, spacerPx(shape) - VIEWPORT_PX);

  test("the scrollbar's ends are the table's ends", () => {
    expect(spacerPx(shape)).toBeLessThanOrEqual(MAX_SPACER_PX);
    expect(scrollTopFor(shape, 0)).toBe(0);
    expect(scrollTopFor(shape, lowest)).toBeCloseTo(endPx, 6);
    expect(topRowFor(shape, 0)).toBe(0);
    expect(clampTopRow(shape, topRowFor(shape, endPx))).toBeCloseTo(lowest, 6);
  });

  test("the map and its inverse agree and are monotonic", () => {
    let before = -1;
    for (let step = 0; step <= 1000; step++) {
      const topRow = (lowest * step) / 1000;
      const scrollTopPx = scrollTopFor(shape, topRow);
      expect(scrollTopPx).toBeGreaterThanOrEqual(before);
      expect(topRowFor(shape, scrollTopPx)).toBeCloseTo(topRow, 4);
      before = scrollTopPx;
    }
  });

  test("at the end, the last row is the last visible one", () => {
    expect(visibleRows(shape, lowest).end).toBe(numRows);
  });
});

test("with a billion rows, wheel notches move by exact pixels at any position", () => {
  const seed = 20_261_121;
  const random = seededRandom(seed);
  const shape = geometry(1_000_000_000);
  let topRow = 0;
  // The obvious, slow version: whole px in integers of any size.
  let oraclePx = 0n;
  const lowestPx = BigInt(shape.numRows) * BigInt(ROW_HEIGHT_PX) - BigInt(VIEWPORT_PX);
  for (let step = 0; step < 20_000; step++) {
    if (random() < 0.01) {
      const row = Math.floor(random() * (shape.numRows - 20));
      topRow = clampTopRow(shape, row);
      oraclePx = BigInt(row) * BigInt(ROW_HEIGHT_PX);
    } else {
      const distancePx = Math.round((random() - 0.5) * 2000);
      topRow = movedBy(shape, topRow, distancePx);
      oraclePx += BigInt(distancePx);
      if (oraclePx < 0n) oraclePx = 0n;
      if (oraclePx > lowestPx) oraclePx = lowestPx;
    }
    const oracleRow = Number(oraclePx / BigInt(ROW_HEIGHT_PX));
    const oracleRest = Number(oraclePx % BigInt(ROW_HEIGHT_PX));
    const differencePx = (topRow - oracleRow) * ROW_HEIGHT_PX - oracleRest;
    expect(Math.abs(differencePx), `step ${step}, seed ${seed}`).toBeLessThan(0.01);
  }
});

test("a small move of the scrollbar is 1:1, a long one is proportional", () => {
  const shape = geometry(1_000_000_000);
  const at = { topRow: 500_000_000, scrollTopPx: scrollTopFor(shape, 500_000_000) };
  const notch = scrolledTo(shape, at, at.scrollTopPx + 120, false);
  expect(notch.topRow).toBeCloseTo(500_000_004, 6);
  const drag = scrolledTo(shape, at, at.scrollTopPx + 1_000_000, false);
  expect(drag.topRow).toBeCloseTo(topRowFor(shape, at.scrollTopPx + 1_000_000), 3);
  expect(drag.topRow).toBeGreaterThan(600_000_000);
});

test("a fling is 1:1 at any speed, and dragging to an end reaches it", () => {
  const shape = geometry(1_000_000_000);
  const at = { topRow: 500_000_000, scrollTopPx: scrollTopFor(shape, 500_000_000) };
  const fling = scrolledTo(shape, at, at.scrollTopPx + 30_000, true);
  expect(fling.topRow).toBeCloseTo(500_001_000, 6);
  expect(scrolledTo(shape, at, 0, true).topRow).toBe(0);
  const endPx = spacerPx(shape) - VIEWPORT_PX;
  expect(scrolledTo(shape, at, endPx, false).topRow).toBeCloseTo(maxTopRow(shape), 6);
});

test("the grid's own correction of the scrollbar moves no rows", () => {
  const shape = geometry(10_000_000);
  const at = { topRow: 1234.5, scrollTopPx: 777 };
  expect(scrolledTo(shape, at, 777, false)).toBe(at);
});

test("rows that arrive while scrolling near the start move nothing", () => {
  for (const topRow of [0, 17.25, EDGE_PX / ROW_HEIGHT_PX - 1]) {
    const few = scrollTopFor(geometry(20_000), topRow);
    const many = scrollTopFor(geometry(900_000_000), topRow);
    expect(many).toBeCloseTo(few, 6);
  }
});

test("a row is revealed by the smallest movement", () => {
  const shape = geometry(1_000_000_000);
  expect(revealRow(shape, 100.5, 100)).toBe(100);
  expect(revealRow(shape, 100.5, 110)).toBe(100.5);
  expect(revealRow(shape, 100.5, 121)).toBe(102);
  expect(revealRow(shape, 0, 999_999_999)).toBe(maxTopRow(shape));
});

test("at the end of a scrollbar that rows have outgrown, the wheel scrolls notch by notch", () => {
  const [before, after] = [geometry(1_000_000), geometry(2_000_000)];
  const endPx = spacerPx(before) - VIEWPORT_PX;
  const at = { topRow: maxTopRow(before), scrollTopPx: endPx };
  const up = scrolledTo(after, at, endPx - 120, true);
  const down = scrolledTo(after, up, endPx, true);
  expect(up.topRow).toBeCloseTo(at.topRow - 4, 6);
  expect(down.topRow).toBeCloseTo(at.topRow, 6);
  expect(scrolledTo(after, up, endPx, false).topRow).toBeCloseTo(maxTopRow(after), 6);
});
