// parquet-wasm with apache-arrow, and a plain table.

import { tableFromIPC } from "apache-arrow";
import init, { ParquetFile, readParquet } from "parquet-wasm/esm";
import { tableOf } from "../tables/arrow.js";
import { PlainTable, SHOWN_ROWS, start } from "./start.js";

const table = new PlainTable();
const loading = init({ module_or_path: "/peers/parquet_wasm_bg.wasm" });
let file: ParquetFile | undefined;

async function showRow(row: number): Promise<void> {
  const read = await file?.read({ limit: SHOWN_ROWS, offset: row });
  if (read === undefined) return;
  const { batches } = tableFromIPC(read.intoIPCStream());
  table.show(row, await tableOf(batches).cells(0, SHOWN_ROWS));
}

start({
  openFile: async (url) => {
    table.clear();
    await loading;
    file?.free();
    file = await ParquetFile.fromUrl(new URL(url, location.href).href);
    await showRow(0);
  },
  showRow,
  shownRow: (row) => table.row(row),
  readAll: async (url) => {
    const answer = fetch(url);
    await loading;
    const bytes = new Uint8Array(await (await answer).arrayBuffer());
    return tableFromIPC(readParquet(bytes).intoIPCStream()).numRows;
  },
});
