import type { CDPSession } from "@playwright/test";

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** The start, in µs. */
  ts: number;
  /** The duration, in µs. */
  dur?: number;
  /** The thread's processor time, in µs. */
  tdur?: number;
  args: { name?: string };
}

/** Processor times of the page's main thread, which do not depend on other load of the machine. */
export interface MainThread {
  /** The time of each frame, in ms. */
  frameMs: number[];
  /** The time of each task, in ms. */
  taskMs: number[];
}

/** Traces the page's main thread while `work` runs. */
export async function traceMainThread(
  session: CDPSession,
  work: () => Promise<void>,
): Promise<MainThread> {
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]));
  });
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { recordMode: "recordUntilFull", includedCategories: ["toplevel", "cc"] },
  });
  await work();
  const done = new Promise<void>((resolve) =>
    session.once("Tracing.tracingComplete", () => resolve()),
  );
  await session.send("Tracing.end");
  await done;
  return mainThread(events);
}

/** A quantile of the values, e.g. the 95th percentile for 0.95. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

function thread({ pid, tid }: TraceEvent): string {
  return `${pid}:${tid}`;
}

function mainThread(events: readonly TraceEvent[]): MainThread {
  const isFrame = ({ ph, name }: TraceEvent) => ph === "X" && name === "ProxyMain::BeginMainFrame";
  // The page's main thread is the one with the most frames; the browser's own pages have fewer.
  const numFrames = new Map<string, number>();
  for (const event of events.filter(isFrame)) {
    numFrames.set(thread(event), (numFrames.get(thread(event)) ?? 0) + 1);
  }
  const [most] = [...numFrames].sort(([, a], [, b]) => b - a);
  if (most === undefined) throw new Error("no frame was drawn");
  const mine = events.filter((event) => thread(event) === most[0]).sort((a, b) => a.ts - b.ts);
  const starts = mine.filter(isFrame).map(({ ts }) => ts);
  const frameMs = starts.map(() => 0);
  const taskMs: number[] = [];
  const tasks = mine.filter(
    ({ ph, name }) => ph === "X" && name === "ThreadControllerImpl::RunTask",
  );
  let frame = 0;
  for (const { ts, dur = 0, tdur = 0 } of tasks) {
    while ((starts[frame + 1] ?? Number.POSITIVE_INFINITY) <= ts + dur) frame++;
    frameMs[frame] = (frameMs[frame] ?? 0) + tdur / 1000;
    taskMs.push(tdur / 1000);
  }
  return { frameMs, taskMs };
}
