import type { CDPSession } from "@playwright/test";

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** When it began, in µs. */
  ts: number;
  /** How long it took, in µs. */
  dur?: number;
  /** How much of that the thread had a processor, in µs. */
  tdur?: number;
  args: { name?: string };
}

/** What the page's main thread did: processor time, so that a busy machine does not count. */
export interface MainThread {
  /** Of each frame, in ms. */
  frameMs: number[];
  /** Of each task, in ms. */
  taskMs: number[];
}

/** Traces the page's main thread while `work` is under way. */
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

/** The `part`-th of the values in their order, e.g. 0.95 of them are at most that large. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

function thread({ pid, tid }: TraceEvent): string {
  return `${pid}:${tid}`;
}

function mainThread(events: readonly TraceEvent[]): MainThread {
  const isFrame = ({ ph, name }: TraceEvent) => ph === "X" && name === "ProxyMain::BeginMainFrame";
  // The page's thread is the one that draws most; the browser has pages of its own.
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
