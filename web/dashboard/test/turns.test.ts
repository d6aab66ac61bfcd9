import { expect, test } from "vitest";
import { Turns } from "../src/details/turns.js";

test("no more than so many at once, the first come first, failures included", async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (number: number) =>
    turns.take(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (number === 1) throw new Error("failed");
    });
  const all = [0, 1, 2, 3].map((number) => work(number).catch(() => "failed"));
  await expect.poll(() => begun).toEqual([0, 1]);
  ends[1]?.();
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  ends[0]?.();
  await expect.poll(() => begun).toEqual([0, 1, 2, 3]);
  ends[2]?.();
  ends[3]?.();
  expect(await Promise.all(all)).toEqual([undefined, "failed", undefined, undefined]);
});
