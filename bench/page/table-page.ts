import type { ColonnadeViewer } from "../../web/src/index.js";
import { MEMORY_BYTES, opened } from "./tables/colonnade.js";
import type { Cells, ReadTable } from "./tables/reader.js";
import { finish, nowMs, type TableEnd, type TableNews, type TableTask } from "./tables/task.js";

type Mark = (name: string, atMs: number) => void;

/** The times of a reader, measured from an empty page and including the load of its code. */
export interface TableRun extends Omit<TableEnd, "touchedMs" | "works"> {
  /** Milliseconds until `schema`, `first`, `painted`, `last` and `every value`. */
  ms: Record<string, number>;
  works: Record<string, number>;
  /** Durations of the main thread's tasks over 50 ms. */
  longTasksMs: number[];
}

declare global {
  /** Reads a table with one reader; returns the time of each mark. */
  var readTable: (task: TableTask) => Promise<TableRun>;
}

globalThis.readTable = async (task) => {
  const longTasksMs: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longTasksMs.push(duration);
  });
  observer.observe({ type: "longtask" });
  const startMs = nowMs();
  const marks: Record<string, number> = {};
  const mark = (name: string, atMs: number) => {
    marks[name] ??= atMs - startMs;
  };
  const read = ON_PAGE[task.reader] ?? readInWorker;
  const { touchedMs, ...end } = await read(task, mark);
  if (touchedMs !== undefined) mark("every value", touchedMs);
  observer.disconnect();
  return { ...end, ms: marks, longTasksMs };
};

function readInWorker(task: TableTask, mark: Mark): Promise<TableEnd> {
  const worker = new Worker("/page/table-worker.js", { type: "module" });
  let shown: Promise<void> | undefined;
  return new Promise((resolve, reject) => {
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.onmessage = ({ data }: MessageEvent<TableNews>) => {
      if (data.name === "error") reject(new Error(data.message));
      else if (data.name === "end") resolve(Promise.resolve(shown).then(() => data));
      else mark(data.name, data.atMs);
      if (data.name === "first") shown = paint(data.cells, mark);
    };
    worker.postMessage(task);
  });
}

/** Readers that start their own workers or need a document. */
const ON_PAGE: Record<string, (task: TableTask, mark: Mark) => Promise<TableEnd>> = {
  viewer: showViewer,
  "open(url)": readOnPage(() => import("./tables/colonnade.js")),
  perspective: readOnPage(() => import("./tables/perspective.js")),
};

function readOnPage(load: () => Promise<{ read: ReadTable }>) {
  return async (task: TableTask, mark: Mark): Promise<TableEnd> => {
    const { read } = await load();
    let shown: Promise<void> | undefined;
    const progress = {
      schema: () => mark("schema", nowMs()),
      firstRows: (cells: Cells) => {
        mark("first", nowMs());
        shown = paint(cells, mark);
      },
    };
    const table = await read(task.url, progress, task.sql);
    mark("last", nowMs());
    await shown;
    return finish(table, task);
  };
}

/** Adds cells to the page, and marks when they are painted. */
async function paint(cells: Cells, mark: Mark): Promise<void> {
  const table = document.createElement("table");
  for (const row of cells) {
    const tableRow = table.insertRow();
    for (const text of row) tableRow.insertCell().textContent = text;
  }
  document.body.append(table);
  mark("painted", await painted(table));
}

/** The time at which the first frame with `element` has been painted: when the next frame begins. */
async function painted(element: Element): Promise<number> {
  await new Promise<void>((resolve) => {
    const observer = new ResizeObserver(() => {
      observer.disconnect();
      resolve();
    });
    observer.observe(element);
  });
  await new Promise(requestAnimationFrame);
  return nowMs();
}

/** Reads with the `<colonnade-viewer>` element, whose own grid paints the rows. */
async function showViewer(task: TableTask, mark: Mark): Promise<TableEnd> {
  await import(/* @vite-ignore */ `${"/colonnade/define.js"}`);
  const viewer = document.createElement("colonnade-viewer") as ColonnadeViewer;
  viewer.memory = String(MEMORY_BYTES);
  viewer.src = task.url;
  document.body.append(viewer);
  await viewer.updateComplete;
  const table = await viewer.ready;
  mark("schema", nowMs());
  const cell = await firstCell(viewer.shadowRoot as ShadowRoot);
  mark("first", nowMs());
  mark("painted", await painted(cell));
  await table.done;
  mark("last", nowMs());
  return finish(opened(table), task);
}

/** Resolves with the first cell that has a text, before it is painted. */
function firstCell(root: ShadowRoot): Promise<Element> {
  return new Promise((resolve) => {
    const look = () => {
      const cell = root.querySelector("[role=gridcell]");
      if (!cell?.textContent) return;
      observer.disconnect();
      resolve(cell);
    };
    const observer = new MutationObserver(look);
    observer.observe(root, { childList: true, subtree: true, characterData: true });
    look();
  });
}
