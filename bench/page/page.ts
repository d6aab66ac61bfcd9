import "./table-page.js";
import type { ColonnadeViewer, open } from "../../web/src/index.js";
import type { Run, Task } from "./tasks.js";

type Package = { open: typeof open };

/** The frames of the main thread during some work. */
interface Frames {
  count: number;
  /** Longer than 50 ms. */
  long: number;
  longestMs: number;
  medianMs: number;
}

declare global {
  /** Performs a task in a new worker. */
  var perform: (task: Task) => Promise<Run[]>;
  /** Scrolls through the table at `url` at rest, then while each kernel runs. */
  var scrollWhile: (url: string) => Promise<Record<string, Frames>>;
}

globalThis.perform = (task) =>
  new Promise((resolve, reject) => {
    const worker = new Worker("/page/worker.js", { type: "module" });
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.onmessage = ({ data }: MessageEvent<{ runs?: Run[]; error?: string }>) => {
      worker.terminate();
      if (data.runs === undefined) reject(new Error(data.error));
      else resolve(data.runs);
    };
    worker.postMessage(task);
  });

const LONG_MS = 50;
const IDLE_MS = 1000;

globalThis.scrollWhile = async (url) => {
  await import(/* @vite-ignore */ `${"/colonnade/define.js"}`);
  const { open } = (await import(/* @vite-ignore */ `${"/colonnade/index.js"}`)) as Package;
  const table = await open(url);
  await table.done;
  const viewer = document.createElement("colonnade-viewer") as ColonnadeViewer;
  viewer.table = table;
  document.body.append(viewer);
  await viewer.updateComplete;
  const scroller = viewer.shadowRoot?.querySelector("[role=grid]") as HTMLElement;
  const value = 0.4;
  const works: Record<string, () => Promise<unknown>> = {
    "at rest": () => new Promise((resolve) => setTimeout(resolve, IDLE_MS)),
    sort: async () => (await table.sort([{ column: "c0" }])).done,
    filter: () => table.filter({ op: "gt", column: "c0", value }),
    summary: () => table.summary("c0"),
  };
  const frames: Record<string, Frames> = {};
  for (const [name, work] of Object.entries(works)) {
    frames[name] = await framesWhile(scroller, work());
  }
  return frames;
};

async function framesWhile(scroller: HTMLElement, work: Promise<unknown>): Promise<Frames> {
  const times: number[] = [];
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  let lastMs = performance.now();
  while (!isDone) {
    const nowMs = await new Promise<number>(requestAnimationFrame);
    times.push(nowMs - lastMs);
    lastMs = nowMs;
    scroller.scrollTop += 60;
  }
  await ended;
  times.sort((a, b) => a - b);
  return {
    count: times.length,
    long: times.filter((ms) => ms > LONG_MS).length,
    longestMs: times.at(-1) ?? 0,
    medianMs: times[times.length >> 1] ?? 0,
  };
}
