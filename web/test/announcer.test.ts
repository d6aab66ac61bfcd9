import { afterEach, expect, test, vi } from "vitest";
import type { TableProgress } from "../src/api/table.js";
import { UNARRANGED } from "../src/model/arrangement.js";
import { Announcer } from "../src/viewer/announcer.js";
import { wrongNumber } from "../src/viewer/go-to-row.js";

function progressOf(rows: number): TableProgress {
  return {
    rows,
    batches: 1,
    bytes: 0,
    totalRows: undefined,
    elapsedMs: 0,
    firstRowMs: undefined,
    connection: "open",
    interruption: undefined,
  };
}

afterEach(() => {
  vi.useRealTimers();
});

test("a phase is announced at once, progress every three seconds, zero rows only if they last", () => {
  vi.useFakeTimers();
  const onDue = vi.fn();
  const announcer = new Announcer(onDue);
  const say = (
    phase: "connecting" | "running" | "streaming" | "complete" | "windowed",
    rows: number,
  ) => announcer.text(phase, progressOf(rows), UNARRANGED);
  const before = announcer.text("connecting", undefined, UNARRANGED);
  expect(before).toBe("Connecting…");
  expect(say("running", 0)).toBe(before);
  vi.advanceTimersByTime(3000);
  expect(onDue).toHaveBeenCalledOnce();
  expect(say("running", 0)).toBe("Running…");
  onDue.mockClear();
  expect(say("streaming", 10)).toBe("Streaming: 10 rows");
  vi.advanceTimersByTime(2900);
  expect(say("streaming", 20)).toBe("Streaming: 10 rows");
  expect(onDue).not.toHaveBeenCalled();
  vi.advanceTimersByTime(3000);
  expect(onDue).toHaveBeenCalledOnce();
  expect(say("streaming", 30)).toBe("Streaming: 30 rows");
  expect(say("complete", 40)).toBe("Complete: 40 rows");
  expect(say("windowed", 50)).toContain("50 rows");
  expect(say("windowed", 60)).toContain("50 rows");
});

test("an invalid row number gets a message with the valid range", () => {
  expect(wrongNumber("x", 1000, false)).toBe(
    "“x” is not a row number. Type a whole number: 1 to 1,000.",
  );
  expect(wrongNumber("", 1000, true)).toBe(
    "No row number was typed. Type a whole number: 1 or more.",
  );
});
