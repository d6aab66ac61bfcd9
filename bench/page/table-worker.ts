import type { Cells, ReadTable } from "./tables/reader.js";
import { finish, nowMs, type TableNews, type TableTask } from "./tables/task.js";

/** The readers by name; only the requested one is loaded. */
const READERS: Record<string, () => Promise<{ read: ReadTable }>> = {
  copy: () => import("./tables/copy.js"),
  "apache-arrow": () => import("./tables/arrow.js"),
  flechette: () => import("./tables/flechette.js"),
  "duckdb-wasm": () => import("./tables/duckdb.js"),
  "parquet-wasm": () => import("./tables/parquet.js"),
};

const tell = (news: TableNews) => globalThis.postMessage(news);

async function perform(task: TableTask): Promise<void> {
  const load = READERS[task.reader];
  if (load === undefined) throw new Error(`there is no reader "${task.reader}"`);
  const { read } = await load();
  const progress = {
    schema: () => tell({ name: "schema", atMs: nowMs() }),
    firstRows: (cells: Cells) => tell({ name: "first", atMs: nowMs(), cells }),
  };
  const table = await read(task.url, progress);
  tell({ name: "last", atMs: nowMs() });
  tell({ name: "end", ...(await finish(table, task)) });
}

globalThis.onmessage = ({ data }: MessageEvent<TableTask>) => {
  perform(data).catch((thrown: unknown) => {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    tell({ name: "error", message });
  });
};
