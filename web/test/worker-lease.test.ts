import { expect, test } from "vitest";
import { takeIdleWorker, WorkerLease } from "../src/api/worker-lease.js";

/** A worker that only counts. */
class FakeWorker extends EventTarget {
  numEnds = 0;
  postMessage(): void {}
  terminate(): void {
    this.numEnds++;
  }
}

test("a worker is used again, unless it holds much memory", () => {
  const worker = new FakeWorker();
  const lease = () => new WorkerLease(worker as unknown as Worker, "kind");
  lease().release();
  expect(takeIdleWorker("kind")).toBe(worker);
  const large = lease();
  large.retire();
  large.release();
  expect(takeIdleWorker("kind")).toBeUndefined();
  expect(worker.numEnds).toBe(1);
});
