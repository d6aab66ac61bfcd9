import { expect, test } from "vitest";
import { type RowBlock, RowBlockCache } from "../src/worker/row-block-cache.js";
import { seededRandom } from "./random.js";

/** Blocks of one byte each, which arrive when the test says so. */
class Store {
  readonly pending = new Map<number, { arrive: () => void; fail: (error: Error) => void }>();
  readonly live = new Set<number>();
  readonly fetched: number[] = [];
  maxPending = 0;

  readonly fetch = (index: number, signal: AbortSignal): Promise<NumberedBlock> => {
    this.fetched.push(index);
    return new Promise((resolve, reject) => {
      const settle = () => this.pending.delete(index);
      const arrive = () => {
        settle();
        this.live.add(index);
        resolve({ index, numBytes: 1, free: () => this.live.delete(index) });
      };
      const fail = (error: Error) => {
        settle();
        reject(error);
      };
      this.pending.set(index, { arrive, fail });
      this.maxPending = Math.max(this.maxPending, this.pending.size);
      signal.addEventListener("abort", () => fail(new Error("aborted")));
    });
  };
}

interface NumberedBlock extends RowBlock {
  index: number;
}

const never = new AbortController().signal;
/** Lets all work run that does not wait for a block. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
const indexOf = ({ index }: NumberedBlock) => index;

test("random reads get their own block, within the budget", async () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = seededRandom(seed);
    const store = new Store();
    const capacity = 3 + Math.floor(random() * 6);
    const cache = new RowBlockCache(store.fetch, capacity, 1);
    const answers: Promise<void>[] = [];
    const settleOne = () => {
      const all = [...store.pending.values()];
      const one = all[Math.floor(random() * all.length)];
      if (random() < 0.1) one?.fail(new Error("lost"));
      else one?.arrive();
    };
    for (let step = 0; step < 200; step++) {
      const index = Math.floor(random() * 20);
      if (random() < 0.6) {
        const controller = new AbortController();
        const read = cache.use(index, controller.signal, (block) => {
          expect(store.live.has(block.index), `seed ${seed}: a block that was freed`).toBe(true);
          return block.index;
        });
        answers.push(
          read.then(
            (got) => expect(got, `seed ${seed}`).toBe(index),
            ({ code, message }) => expect([code, message]).toContain(code ? "cancelled" : "lost"),
          ),
        );
        if (random() < 0.3) controller.abort();
      } else if (random() < 0.5) cache.prefetch(index);
      else settleOne();
      if (random() < 0.5) await settle();
      expect(cache.usedBytes, `seed ${seed}`).toBeLessThanOrEqual(capacity);
      expect(store.live.size, `seed ${seed}`).toBeLessThanOrEqual(capacity + 2);
    }
    await settle();
    while (store.pending.size > 0) {
      for (const { arrive } of [...store.pending.values()]) arrive();
      await settle();
    }
    await Promise.all(answers);
    expect(store.maxPending, `seed ${seed}`).toBeLessThanOrEqual(2);
    cache.close();
    expect(store.live.size, `seed ${seed}`).toBe(0);
  }
}, 60_000);

test("a block is fetched once, however many wait for it", async () => {
  const store = new Store();
  const cache = new RowBlockCache(store.fetch, 4, 1);
  const reads = [1, 1, 1].map((index) => cache.use(index, never, indexOf));
  store.pending.get(1)?.arrive();
  expect(await Promise.all(reads)).toEqual([1, 1, 1]);
  expect(await cache.use(1, never, indexOf)).toBe(1);
  expect(store.fetched).toEqual([1]);
});

test("a fetch that nobody waits for is aborted, and makes room for a wanted block", async () => {
  const store = new Store();
  const cache = new RowBlockCache(store.fetch, 4, 1);
  const controller = new AbortController();
  const gone = [1, 2, 3].map((index) => cache.use(index, controller.signal, indexOf));
  const stays = cache.use(9, never, indexOf);
  expect([...store.pending.keys()]).toEqual([1, 2]);
  controller.abort();
  for (const read of gone) await expect(read).rejects.toMatchObject({ code: "cancelled" });
  await settle();
  expect([...store.pending.keys()]).toEqual([9]);
  store.pending.get(9)?.arrive();
  expect(await stays).toBe(9);
});

test("a block that is wanted again after an abort arrives", async () => {
  const store = new Store();
  const cache = new RowBlockCache(store.fetch, 4, 1);
  const controller = new AbortController();
  const gone = cache.use(1, controller.signal, indexOf);
  controller.abort();
  const again = cache.use(1, never, indexOf);
  await expect(gone).rejects.toMatchObject({ code: "cancelled" });
  await settle();
  store.pending.get(1)?.arrive();
  expect(await again).toBe(1);
});

test("a failure is reported, and another request tries again", async () => {
  const store = new Store();
  const cache = new RowBlockCache(store.fetch, 4, 1);
  const read = cache.use(1, never, indexOf);
  store.pending.get(1)?.fail(new Error("gone"));
  await expect(read).rejects.toThrow("gone");
  const again = cache.use(1, never, indexOf);
  store.pending.get(1)?.arrive();
  expect(await again).toBe(1);
});

test("a wanted block interrupts a prefetch", async () => {
  const store = new Store();
  const cache = new RowBlockCache(store.fetch, 4, 1);
  cache.prefetch(1);
  const reads = [5, 6].map((index) => cache.use(index, never, indexOf));
  await settle();
  expect([...store.pending.keys()].sort()).toEqual([5, 6]);
  for (const { arrive } of [...store.pending.values()]) arrive();
  expect(await Promise.all(reads)).toEqual([5, 6]);
});

test("the most recently read block stays longest", async () => {
  const store = new Store();
  const cache = new RowBlockCache(store.fetch, 3, 1);
  const read = async (index: number) => {
    const answer = cache.use(index, never, indexOf);
    store.pending.get(index)?.arrive();
    await answer;
  };
  for (const index of [1, 2, 3, 1, 4]) await read(index);
  expect([...store.live].sort()).toEqual([1, 3, 4]);
});
