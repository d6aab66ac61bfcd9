import type { open, Table } from "../../../web/src/index.js";
import { sumOf, textValue } from "../values.js";
import { type OpenTable, type ReadTable, SHOWN_ROWS } from "./reader.js";

type Open = typeof open;

export const MEMORY_BYTES = 2 ** 31;
/** Rows that are read at once. */
const READ_ROWS = 131_072;

/** The package as it is shipped. */
export const read: ReadTable = async (url, progress, sql) => {
  const { open } = (await import(/* @vite-ignore */ `${"/colonnade/index.js"}`)) as { open: Open };
  const table = await open(sql === undefined ? url : queryOf(url, sql), {
    memoryBytes: MEMORY_BYTES,
  });
  progress.schema();
  let isTold = false;
  const tellFirst = async () => {
    if (isTold || table.numRows === 0) return;
    isTold = true;
    progress.firstRows(await table.text({ start: 0, end: SHOWN_ROWS }));
  };
  table.addEventListener("progress", tellFirst);
  await tellFirst();
  await table.done;
  return opened(table);
};

function queryOf(url: string, sql: string): Request {
  const headers = { "content-type": "application/json" };
  return new Request(url, { method: "POST", headers, body: JSON.stringify({ sql }) });
}

/** What is done with a complete table. */
export function opened(table: Table): OpenTable {
  return {
    numRows: table.numRows,
    cells: (start, end) => table.text({ start, end }),
    touch: () => touchTable(table),
    works: {
      sort: async () => {
        const view = await table.sort([{ column: "l_extendedprice", descending: true }]);
        return view.text({ start: 0, end: SHOWN_ROWS });
      },
      filter: async () => {
        const view = await table.filter({ op: "gt", column: "l_quantity", value: "45" });
        return view.text({ start: 0, end: SHOWN_ROWS });
      },
      group: () => table.summary("l_shipmode"),
      search: () =>
        table.find("furiously special", {
          columns: ["l_comment"],
          limit: SHOWN_ROWS,
          matchCase: true,
        }),
    },
  };
}

/** Every value of a complete table. */
export async function touchTable(table: Table): Promise<number> {
  let total = 0;
  for (const [column, { type }] of table.schema.fields.entries()) {
    const isDecimal = type.startsWith("decimal");
    for (let start = 0; start < table.numRows; start += READ_ROWS) {
      const { values } = await table.values(column, { start, end: start + READ_ROWS });
      if (!Array.isArray(values)) total += sumOf(values);
      else if (isDecimal) for (const text of values) total += Number(text.replace(".", ""));
      else for (const text of values) total += textValue(text);
    }
  }
  return total;
}
