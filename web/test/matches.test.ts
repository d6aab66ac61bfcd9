import { expect, test } from "vitest";
import { Matches } from "../src/viewer/matches.js";

const found = (...matches: { row: number; columns: string[] }[]) => ({
  matches,
  next: null,
  searched: 0,
});

test("matches are in reading order, with repeated names each", () => {
  const matches = new Matches();
  matches.add(found({ row: 1, columns: ["b", "a", "gone"] }, { row: 4, columns: ["a"] }), [
    "a",
    "b",
    "a",
  ]);
  expect(matches.cells).toEqual([
    { row: 1, column: 0 },
    { row: 1, column: 1 },
    { row: 1, column: 2 },
    { row: 4, column: 0 },
    { row: 4, column: 2 },
  ]);
});

test("a search begins at a cell and wraps around", () => {
  const matches = new Matches();
  expect(matches.step(1)).toBeUndefined();
  matches.add(
    found({ row: 1, columns: ["a"] }, { row: 3, columns: ["a"] }, { row: 5, columns: ["a"] }),
    ["a"],
  );
  expect(matches.goFrom({ row: 2, column: 0 })).toBe(true);
  expect(matches.number).toBe(2);
  expect(matches.step(1)).toEqual({ row: 5, column: 0 });
  expect(matches.step(1)).toEqual({ row: 1, column: 0 });
  expect(matches.step(-1)).toEqual({ row: 5, column: 0 });
  expect(matches.goFrom({ row: 5, column: 1 })).toBe(false);
});

test("without a current match, backwards is the last one", () => {
  const matches = new Matches();
  matches.add(found({ row: 1, columns: ["a"] }, { row: 3, columns: ["a"] }), ["a"]);
  expect(matches.step(-1)).toEqual({ row: 3, column: 0 });
});
