import { expect, test } from "vitest";
import { MemoryShare, PAGE_MEMORY_BYTES } from "../src/api/memory-share.js";

const FIRST_BYTES = 16 * 2 ** 20;

/** Grows a share until it grows no more; returns its size. */
function grownFully(share: MemoryShare): number {
  let before = 0;
  while (share.bytes > before) {
    before = share.bytes;
    share.grow();
  }
  return before;
}

test("all tables of a page together get its memory, and a little for each", () => {
  const first = new MemoryShare();
  expect(first.bytes).toBe(FIRST_BYTES);
  expect(grownFully(first)).toBe(PAGE_MEMORY_BYTES);
  const others = Array.from({ length: 10 }, () => new MemoryShare());
  expect(others.map(grownFully)).toEqual(others.map(() => FIRST_BYTES));
  for (const share of [first, ...others]) share.settle(0);
});

test("what complete tables do not need, and what closed ones had, is for others", () => {
  const small = Array.from({ length: 100 }, () => new MemoryShare());
  for (const share of small) share.settle(1000);
  const one = new MemoryShare();
  expect(grownFully(one)).toBe(PAGE_MEMORY_BYTES - 100 * 1000);
  one.settle(0);
  one.settle(0);
  for (const share of small) share.settle(0);
  const next = new MemoryShare();
  expect(grownFully(next)).toBe(PAGE_MEMORY_BYTES);
  next.settle(0);
});
