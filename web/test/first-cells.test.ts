import { afterEach, expect, test, vi } from "vitest";
import { TableReader } from "../src/api/table-reader.js";
import type { RowWindow } from "../src/model/row-window.js";
import type { Schema } from "../src/model/schema.js";
import type { Requester } from "../src/rpc/requester.js";

const FIRST_CELLS = { numRows: 4, numColumns: 3, maxChars: 300 };

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Cells of rows `[start, end)` that say where they are. */
function packedCells(start: number, end: number, columns: Iterable<number>) {
  const positions = [...columns];
  const texts: string[] = [];
  for (let row = start; row < end; row++) {
    for (const column of positions) texts.push(`${row}:${column}`);
  }
  const bytes = new TextEncoder().encode(texts.join(""));
  const packed = new Uint8Array(texts.length * 5 + bytes.length);
  let numChars = 0;
  for (const [index, text] of texts.entries()) {
    numChars += text.length;
    new DataView(packed.buffer).setUint32(index * 4, numChars, true);
  }
  packed.set(bytes, texts.length * 5);
  return packed;
}

/** A reader of `numRows` rows, and the requests that it sends. */
function readerOf(numRows: number, numColumns: number) {
  const asked: string[] = [];
  const request = async (
    name: string,
    params: { start: number; end: number; columns: Uint32Array; maxChars: number },
  ) => {
    asked.push(`${name} ${params.start}-${params.end} of ${params.columns} at ${params.maxChars}`);
    return packedCells(params.start, params.end, params.columns);
  };
  const send = (name: string) => asked.push(name);
  const fields = Array.from({ length: numColumns }, () => ({}));
  const table = {
    numRows,
    schema: { fields, metadata: {} } as unknown as Schema,
    state: "streaming",
    progress: { totalRows: undefined },
  };
  const requester = { request, send } as unknown as Requester;
  return { asked, table, reader: new TableReader(requester, table, FIRST_CELLS, false) };
}

const frames: (() => void)[] = [];

function stubFrames() {
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => frames.push(draw));
}

async function paint() {
  for (let count = 0; count < 2; count++) {
    for (const draw of frames.splice(0)) draw();
    await Promise.resolve();
    await Promise.resolve();
  }
}

function texts(window: RowWindow): string[] {
  const rows = [];
  for (let row = window.start; row < window.end; row++) {
    for (let position = 0; position < window.numColumns; position++) {
      rows.push(window.text(row, position));
    }
  }
  return rows;
}

test("the first cells need no request until they are painted", async () => {
  stubFrames();
  const { asked, reader } = readerOf(100, 5);
  reader.keepFirst(packedCells(0, 4, [0, 1, 2]));
  const read = (start: number, end: number, columns: number[], maxChars = 300) =>
    reader.window({ start, end }, Uint32Array.from(columns), maxChars);
  expect(texts(await read(0, 4, [0, 1, 2]))).toHaveLength(12);
  expect(texts(await read(1, 3, [2, 0]))).toEqual(["1:2", "1:0", "2:2", "2:0"]);
  expect(asked).toEqual([]);
  await read(0, 5, [0]);
  await read(0, 4, [3]);
  await read(0, 4, [0], 0);
  expect(asked).toEqual([
    "window 0-5 of 0 at 300",
    "window 0-4 of 3 at 300",
    "window 0-4 of 0 at 0",
  ]);
  asked.length = 0;
  await paint();
  expect(texts(await read(1, 2, [1]))).toEqual(["1:1"]);
  expect(asked).toEqual(["painted", "window 1-2 of 1 at 300"]);
});

test("rows that arrived since are requested", async () => {
  stubFrames();
  const { asked, table, reader } = readerOf(2, 2);
  reader.keepFirst(packedCells(0, 2, [0, 1]));
  const all = () => reader.window({ start: 0, end: 64 }, Uint32Array.of(0, 1), 300);
  expect(texts(await all())).toEqual(["0:0", "0:1", "1:0", "1:1"]);
  table.numRows = 3;
  expect(texts(await all())).toHaveLength(6);
  expect(asked).toEqual(["window 0-3 of 0,1 at 300"]);
});
