import { expect, test } from "vitest";
import { computationOf } from "../src/viewer/computation-record.js";

test("how far a statement has come, in words", () => {
  const of = (fraction: number | null, read: number | null, total: number | null, elapsedMs = 0) =>
    computationOf({
      progress: { fraction, bytes_read: read, bytes_total: total },
      elapsed_ms: elapsedMs,
    }).words;
  expect(of(null, null, null)).toEqual([]);
  expect(of(null, 0, null)).toEqual([]);
  expect(of(null, 1_900_000_000, null)).toEqual(["1.90 GB read"]);
  expect(of(0.38, 1_900_000_000, 5_000_000_000, 5600)).toEqual([
    "38 %",
    "1.90 of 5.00 GB read",
    "10 s left",
  ]);
  expect(of(0.38, 19_000_000, 5_000_000_000, 600)).toEqual(["38 %", "19.0 MB of 5.00 GB read"]);
  expect(of(0.05, null, null, 60_000)).toEqual(["5 %", "19 min left"]);
  expect(of(0.001, null, null, 60_000)).toEqual(["0 %"]);
  // All is read, but there are no rows yet.
  expect(of(1, 5, 5, 60_000)).toEqual(["5 B read"]);
});
