import { expect, test } from "vitest";
import { ColonnadeError } from "../src/index.js";
import { parseBytes, parseRowNumber } from "../src/viewer/parse.js";
import {
  announcement,
  errorPosition,
  facts,
  formatBytes,
  formatDuration,
  formatMemory,
  fraction,
  phaseOf,
} from "../src/viewer/status.js";

const progress = {
  rows: 1_500_000,
  batches: 12,
  bytes: 240_000_000,
  elapsedMs: 2000,
  firstRowMs: 41.4,
  totalRows: 6_000_000,
  connection: "open" as const,
  interruption: undefined,
};

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.00 kB"],
  [12_345, "12.3 kB"],
  [999_950, "1.00 MB"],
  [742_000_000, "742 MB"],
  [1.5e12, "1.50 TB"],
])("%d bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [41.4, "41 ms"],
  [999.6, "1.0 s"],
  [3200, "3.2 s"],
  [59_960, "1 min 0 s"],
  [125_000, "2 min 5 s"],
])("%d ms are %s", (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

test("a running stream reports its progress, a complete one its totals", () => {
  expect(announcement("streaming", progress)).toBe(
    "Streaming: 1,500,000 of 6,000,000 rows, 240 MB, 120 MB/s, 2.0 s, first row in 41 ms",
  );
  expect(announcement("complete", { ...progress, totalRows: 1_500_000 })).toMatch(
    /^Complete: 1,500,000 rows, /,
  );
  expect(announcement("connecting", undefined)).toBe("Connecting…");
});

test("a statement without rows so far says only how long it has run", () => {
  const running = { ...progress, rows: 0, bytes: 192, elapsedMs: 14_000, firstRowMs: undefined };
  expect(phaseOf("streaming", running)).toBe("running");
  expect(facts("running", running)).toEqual(["14.0 s"]);
  expect(announcement("running", running)).toBe("Running…");
});

test("files that are missing are counted", () => {
  expect(announcement("complete", { ...progress, leftOutFiles: 2 })).toMatch(
    /^Complete: 1,500,000 rows, files left out: 2, 240 MB/,
  );
  expect(announcement("complete", { ...progress, leftOutFiles: 0 })).not.toContain("left out");
});

test("a lost connection is a phase only of a running stream", () => {
  const interruption = { row: 1_500_000, attempt: 2, since: 0 };
  const lost = { ...progress, connection: "interrupted" as const, interruption };
  expect(phaseOf("streaming", lost)).toBe("interrupted");
  expect(phaseOf("failed", lost)).toBe("failed");
  expect(phaseOf("streaming", progress)).toBe("streaming");
  expect(announcement("interrupted", lost)).toBe("Connection lost at row 1,500,001. Resuming…");
});

test("a windowed table reports its rows, and where their connection was lost", () => {
  const windowed = { ...progress, rows: 6_000_000 };
  expect(announcement("windowed", windowed)).toBe(
    "Windowed: rows load as you scroll, 6,000,000 rows",
  );
  expect(announcement("windowed", { ...windowed, totalRows: undefined })).toContain(
    "at least 6,000,000 rows",
  );
  const interruption = { row: 41, attempt: 1, since: 0 };
  const lost = { ...windowed, connection: "interrupted" as const, interruption };
  expect(phaseOf("windowed", lost)).toBe("interrupted");
  expect(announcement("interrupted", lost)).toBe("Connection lost at row 42. Resuming…");
});

test("a stream that waits for a budget is paused", () => {
  const pause = { code: "memory_budget_exceeded", message: "full" };
  expect(phaseOf("streaming", { ...progress, pause })).toBe("paused");
  expect(phaseOf("cancelled", { ...progress, pause })).toBe("cancelled");
  const sizes = [64 * 2 ** 20, 1.5 * 2 ** 30, 6144, 7];
  expect(sizes.map(formatMemory)).toEqual(["64 MiB", "1.5 GiB", "6 KiB", "7 B"]);
});

test("progress is definite only if the total is known", () => {
  expect(fraction(progress)).toBe(0.25);
  expect(fraction({ ...progress, totalRows: undefined })).toBeUndefined();
  expect(fraction({ ...progress, rows: 7_000_000 })).toBe(1);
});

test("errors report their position", () => {
  expect(errorPosition(new ColonnadeError("x", "y", { row: 1, byte: 1024 }))).toBe(
    "after 1 row, at byte 1,024",
  );
  expect(errorPosition(new ColonnadeError("x", "y"))).toBe("");
});

test.each([
  ["128MiB", 134_217_728],
  ["1.5 GB", 1_500_000_000],
  ["4096", 4096],
])("%s is %d bytes", (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test("an invalid size is refused", () => {
  expect(() => parseBytes("plenty")).toThrow(/Expected a size such as 128MiB, found "plenty"/);
});

test.each([
  ["1", 1],
  [" 6,001,215 ", 6_001_215],
  ["1.000.000", 1_000_000],
  ["0", undefined],
  ["-3", undefined],
  ["2.5", undefined],
  ["last", undefined],
])("row %s is %s", (text, row) => {
  expect(parseRowNumber(text)).toBe(row);
});

test("a table that waits for others reports that and its progress", () => {
  const waiting = { ...progress, connection: "waiting" as const };
  expect(phaseOf("streaming", waiting)).toBe("waiting");
  expect(announcement("waiting", waiting)).toBe(
    "Waiting for other tables: 1,500,000 of 6,000,000 rows, 240 MB",
  );
});
