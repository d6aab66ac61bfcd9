import { expect, test } from "vitest";
import { Semaphore } from "../src/server/semaphore.js";

test("a limited number of tasks run at once, in the order of the calls, also after failures", async () => {
  const semaphore = new Semaphore(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (number: number) =>
    semaphore.run(async () => {
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

test("a task that is aborted in the queue does not block later tasks", async () => {
  const semaphore = new Semaphore(2);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string, signal?: AbortSignal) =>
    semaphore.run(async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    }, signal);
  const abort = new AbortController();
  const first = [work("a"), work("b")];
  const removed = [work("c1", abort.signal), work("c2", abort.signal)];
  const last = work("d");
  await expect.poll(() => begun).toEqual(["a", "b"]);
  abort.abort();
  expect((await Promise.allSettled(removed)).map(({ status }) => status)).toEqual([
    "rejected",
    "rejected",
  ]);
  ends.get("a")?.();
  ends.get("b")?.();
  await expect.poll(() => begun).toEqual(["a", "b", "d"]);
  ends.get("d")?.();
  await Promise.all([...first, last]);
});

test("a task that is aborted as it leaves the queue lets the next task run", async () => {
  const semaphore = new Semaphore(1);
  const abort = new AbortController();
  const first = semaphore.run(async () => {});
  const second = semaphore.run(async () => {}, abort.signal);
  const third = semaphore.run(async () => "done");
  void first.then(() => abort.abort());
  await second.catch(() => {});
  expect(await third).toBe("done");
});
