import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { beginLife, endWorker, lossOf, readyOf, watchWorker } from "../src/api/worker-life.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A worker without Web Locks, which answers while it is alive. */
class FakeWorker extends EventTarget {
  isAlive = true;
  numPings = 0;

  postMessage(): void {
    this.numPings++;
    if (this.isAlive) this.dispatchEvent(new MessageEvent("message", { data: "alive" }));
  }

  terminate(): void {
    this.isAlive = false;
  }
}

async function watched(): Promise<{ fake: FakeWorker; worker: Worker }> {
  const fake = new FakeWorker();
  const worker = fake as unknown as Worker;
  watchWorker(worker);
  fake.dispatchEvent(new MessageEvent("message", { data: { lock: undefined } }));
  await readyOf(worker);
  return { fake, worker };
}

test("without locks, a worker is lost after two minutes without an answer", async () => {
  const { fake, worker } = await watched();
  vi.advanceTimersByTime(3_600_000);
  expect(lossOf(worker)?.aborted).toBe(false);
  // A busy worker answers later.
  fake.isAlive = false;
  vi.advanceTimersByTime(110_000);
  fake.isAlive = true;
  vi.advanceTimersByTime(110_000);
  expect(lossOf(worker)?.aborted).toBe(false);
  fake.terminate();
  vi.advanceTimersByTime(110_000);
  expect(lossOf(worker)?.aborted).toBe(false);
  vi.advanceTimersByTime(20_000);
  expect(lossOf(worker)?.aborted).toBe(true);
  const { numPings } = fake;
  vi.advanceTimersByTime(3_600_000);
  expect(fake.numPings).toBe(numPings);
});

test("a worker that is released while it starts is watched by its lock all the same", async () => {
  const request = vi.fn(() => new Promise(() => undefined));
  vi.stubGlobal("navigator", { locks: { request } });
  const fake = new FakeWorker();
  const worker = fake as unknown as Worker;
  watchWorker(worker);
  fake.dispatchEvent(new MessageEvent("message", { data: { idleBytes: 0 } }));
  fake.dispatchEvent(new MessageEvent("message", { data: { lock: "its lock" } }));
  await readyOf(worker);
  expect(request).toHaveBeenCalledWith("its lock", expect.anything(), expect.anything());
  vi.advanceTimersByTime(3_600_000);
  expect(fake.numPings).toBe(0);
});

test("a worker that reports an error before it runs is lost, with the reason", async () => {
  const fake = new FakeWorker();
  const worker = fake as unknown as Worker;
  watchWorker(worker);
  fake.dispatchEvent(Object.assign(new Event("error"), { message: "no script" }));
  const error = { code: "worker_unavailable", message: "Could not start a worker: no script" };
  await expect(readyOf(worker)).rejects.toMatchObject(error);
  expect(lossOf(worker)?.reason).toMatchObject(error);
  expect(fake.isAlive).toBe(false);
});

test("a worker that is ended before it runs is not lost later", () => {
  const fake = new FakeWorker();
  const worker = fake as unknown as Worker;
  watchWorker(worker);
  endWorker(worker);
  vi.advanceTimersByTime(3_600_000);
  expect(lossOf(worker)?.aborted).toBe(false);
});

test("a worker that is ended on purpose is not asked again", async () => {
  const { fake, worker } = await watched();
  endWorker(worker);
  vi.advanceTimersByTime(3_600_000);
  expect(fake.numPings).toBe(0);
  expect(lossOf(worker)?.aborted).toBe(false);
});

test("a worker is ready without a lock where there are none, or where they are forbidden", async () => {
  const forbidden = { request: () => Promise.reject(new DOMException("", "SecurityError")) };
  for (const locks of [undefined, forbidden]) {
    vi.stubGlobal("navigator", { locks });
    const said: unknown[] = [];
    beginLife({ postMessage: (message: unknown) => said.push(message) } as unknown as Worker);
    await vi.waitFor(() => expect(said).toEqual([{ lock: undefined }]));
  }
});
