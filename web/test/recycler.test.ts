import { expect, test } from "vitest";
import { Recycler } from "../src/grid/recycler.js";

test("items are reused, and one can be kept out of range", () => {
  let made = 0;
  const released = new Set<number>();
  const recycler = new Recycler(
    () => made++,
    (item) => released.add(item),
  );
  recycler.assign(0, 4, undefined, () => undefined);
  const kept = recycler.get(2);
  recycler.assign(100, 104, 2, () => undefined);
  expect(made).toBe(5);
  expect(recycler.get(2)).toBe(kept);
  recycler.assign(1, 5, 2, () => undefined);
  expect(recycler.get(2)).toBe(kept);
  expect(made).toBe(5);
  expect(released.size).toBe(1);
});
