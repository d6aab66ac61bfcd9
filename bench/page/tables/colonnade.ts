import type { open, Table } from "../../../web/src/index.js";
import { sumOf, textValue, unscaledValue } from "../checksum.js";
import { type OpenTable, type ReadTable, SHOWN_ROWS } from "./reader.js";

type Open = typeof open;

export const MEMORY_BYTES = 2 ** 31;
/** The rows of one request for values. */
const READ_ROWS = 131_072;

const BY_PRICE = [{ column: "l_extendedprice", descending: true }];

/** The number of requests at the same time. */
const NUM_ASKED = 4;

/** Reads with the package as shipped. */
export const read: ReadTable = async (url, progress, sql) => {
  const { open } = (await import(/* @vite-ignore */ `${"/colonnade/index.js"}`)) as { open: Open };
  const table = await open(sql === undefined ? url : queryOf(url, sql), {
    memoryBytes: MEMORY_BYTES,
  });
  progress.schema();
  let telling: Promise<void> | undefined;
  const tellFirst = async () => {
    progress.firstRows(await table.text({ start: 0, end: SHOWN_ROWS }));
  };
  const look = () => {
    if (table.numRows > 0) telling ??= tellFirst();
  };
  table.addEventListener("progress", look);
  look();
  await table.done;
  await telling;
  return opened(table);
};

function queryOf(url: string, sql: string): Request {
  const headers = { "content-type": "application/json" };
  return new Request(url, { method: "POST", headers, body: JSON.stringify({ sql }) });
}

/** A complete table, with the work that is measured. */
export function opened(table: Table): OpenTable {
  return {
    numRows: table.numRows,
    cells: (start, end) => table.text({ start, end }),
    touch: () => touchTable(table),
    works: {
      sort: async () => {
        const view = await table.sort(BY_PRICE);
        await view.text({ start: 0, end: SHOWN_ROWS });
        view.close();
      },
      sortAll: async () => {
        const view = await table.sort(BY_PRICE);
        await view.text({ start: table.numRows - SHOWN_ROWS, end: table.numRows });
        view.close();
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

/** Sums every value of a complete table; meanwhile the worker prepares the next ones. */
export async function touchTable(table: Table): Promise<number> {
  const parts = table.schema.fields.flatMap(({ type }, column) => {
    const numParts = Math.ceil(table.numRows / READ_ROWS);
    return Array.from({ length: numParts }, (_, part) => ({
      type,
      column,
      start: part * READ_ROWS,
    }));
  });
  const ask = (index: number) => {
    const part = parts[index];
    return part && table.values(part.column, { start: part.start, end: part.start + READ_ROWS });
  };
  let total = 0;
  const asked = Array.from({ length: NUM_ASKED }, (_, index) => ask(index));
  for (const [index, { type }] of parts.entries()) {
    const read = await asked.shift();
    asked.push(ask(index + NUM_ASKED));
    const values = read?.values ?? [];
    if (!Array.isArray(values)) total += sumOf(values);
    else if (type.startsWith("decimal")) {
      for (const text of values) total += unscaledValue(text);
    } else for (const text of values) total += textValue(text);
  }
  return total;
}
