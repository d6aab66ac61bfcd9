import type * as Perspective from "@perspective-dev/client";
import { type Cells, type ReadTable, SHOWN_ROWS } from "./reader.js";

const MODULES = "/modules/@perspective-dev";

/** Perspective with its 64-bit engine: loads the whole buffer; the table exists after that. */
export const read: ReadTable = async (url, progress) => {
  const address = `${MODULES}/client/dist/cdn/perspective.js`;
  const { default: perspective } = (await import(/* @vite-ignore */ address)) as {
    default: typeof Perspective.default;
  };
  perspective.init_client(fetch(`${MODULES}/client/dist/wasm/perspective-js.wasm`));
  const server = `${MODULES}/server/dist/wasm/perspective-server`;
  perspective.init_server({
    wasm32: () => fetch(`${server}.wasm`),
    wasm64: () => fetch(`${server}.memory64.wasm`),
  });
  const client = await perspective.worker();
  const bytes = await (await fetch(url)).arrayBuffer();
  const table = await client.table(bytes);
  progress.schema();
  const types = await table.schema();
  const view = await table.view();
  const cellsOf = async (from: typeof view, start: number, end: number): Promise<Cells> => {
    const columns = Object.entries(
      (await from.to_columns({ start_row: start, end_row: end })) as Record<string, unknown[]>,
    );
    return Array.from({ length: columns[0]?.[1].length ?? 0 }, (_, row) =>
      columns.map(([name, values]) => textOf(types[name], values[row])),
    );
  };
  progress.firstRows(await cellsOf(view, 0, SHOWN_ROWS));
  const shown = async (config: Parameters<typeof table.view>[0]) => {
    const other = await table.view(config);
    const cells = await cellsOf(other, 0, SHOWN_ROWS);
    await other.delete();
    return cells;
  };
  return {
    numRows: await table.size(),
    cells: (start, end) => cellsOf(view, start, end),
    works: {
      sort: () => shown({ sort: [["l_extendedprice", "desc"]] }),
      filter: () => shown({ filter: [["l_quantity", ">", 45]] }),
      group: () =>
        shown({
          group_by: ["l_shipmode"],
          columns: ["l_orderkey"],
          aggregates: { l_orderkey: "count" },
        }),
      search: () => shown({ filter: [["l_comment", "contains", "furiously special"]] }),
    },
  };
};

function textOf(type: string | undefined, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return type === "date" ? new Date(value as number).toISOString().slice(0, 10) : String(value);
}
