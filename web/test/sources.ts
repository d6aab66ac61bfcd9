import { afterEach } from "vitest";
import { open } from "../src/api/open.js";
import type { TableSource } from "../src/api/source.js";
import type { Table } from "../src/api/table.js";

const tables: Table[] = [];
afterEach(() => {
  for (const table of tables.splice(0)) table.close();
});

/** Opens a source in this thread; the table is closed after the test. */
export async function openHere(source: TableSource): Promise<Table> {
  const wasmSrc = new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url);
  const table = await open(source, { wasmSrc });
  tables.push(table);
  return table;
}

/** Reads a source to its end. */
export async function readHere(source: TableSource): Promise<Table> {
  const table = await openHere(source);
  await table.done;
  return table;
}

/** Reads a source to its end or its failure, which is returned as `error`. */
export async function tryHere(source: TableSource): Promise<{ table?: Table; error?: unknown }> {
  let table: Table | undefined;
  try {
    table = await openHere(source);
    await table.done;
    return { table };
  } catch (error) {
    return table === undefined ? { error } : { table, error };
  }
}

/** Bytes in pieces, with the lengths that `next` returns. */
export function inPieces(bytes: Uint8Array, next: () => number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close();
      const end = at + next();
      controller.enqueue(bytes.slice(at, end));
      at = end;
    },
  });
}

/** All rows of a table. */
export function textOf(table: Table): Promise<(string | null)[][]> {
  return table.text({ start: 0, end: table.numRows });
}
