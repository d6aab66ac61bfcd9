import { RecordBatchReader } from "apache-arrow";
import init, { readParquet } from "parquet-wasm/esm";
import { tableOf } from "./arrow.js";
import { type ReadTable, SHOWN_ROWS } from "./reader.js";

/** parquet-wasm: decodes the whole file in wasm memory; apache-arrow reads the result. */
export const read: ReadTable = async (url, progress) => {
  await init({ module_or_path: "/modules/parquet-wasm/esm/parquet_wasm_bg.wasm" });
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
  const batches = [...RecordBatchReader.from(readParquet(bytes).intoIPCStream())];
  progress.schema();
  const table = tableOf(batches);
  progress.firstRows(await table.cells(0, SHOWN_ROWS));
  return table;
};
