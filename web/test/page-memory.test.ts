import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterEach, expect, test } from "vitest";
import { open } from "../src/api/open.js";
import { MemoryShare, setPageMemory } from "../src/api/page-memory.js";
import type { Table } from "../src/api/table.js";
import { seededRandom } from "./random.js";

const wasmSrc = new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url);
const PAGE_BYTES = 2 ** 20;
const LEAST_BYTES = PAGE_BYTES / 32;
const ROWS_OF_BATCH = 1000;
const BATCH_BYTES = ROWS_OF_BATCH * Float64Array.BYTES_PER_ELEMENT;

const rows = tableFromArrays({ x: Float64Array.from({ length: ROWS_OF_BATCH }, (_, row) => row) });
const [batch] = rows.batches;

/** A stream of `numBatches` batches, which cannot be read by row. */
function stream(numBatches: number): Uint8Array {
  const one = tableToIPC(rows, "stream");
  const schemaBytes = 8 + new DataView(one.buffer, one.byteOffset).getInt32(4, true);
  const body = one.subarray(schemaBytes, -8);
  const parts = [one.subarray(0, schemaBytes), ...Array(numBatches).fill(body), one.subarray(-8)];
  return new Uint8Array(Buffer.concat(parts));
}

const tables: Table[] = [];
/** Opens a table, and resolves when it is complete or paused. */
async function opened(numBatches: number, memoryBytes?: number): Promise<Table> {
  const table = await open(stream(numBatches), { wasmSrc, memoryBytes });
  tables.push(table);
  await expect.poll(() => table.paused?.code ?? table.state).not.toBe("streaming");
  return table;
}

afterEach(() => {
  for (const table of tables.splice(0)) table.close();
  setPageMemory(undefined);
});

test("tables of a page take what they need of its memory, and later ones what is left", async () => {
  expect(batch?.numRows).toBe(ROWS_OF_BATCH);
  setPageMemory(PAGE_BYTES);
  const [small, large] = [await opened(2), await opened(90)];
  expect([small.state, large.state]).toEqual(["complete", "complete"]);
  const late = await opened(90);
  expect(late.paused?.code).toBe("memory_budget_exceeded");
  const leftBytes = PAGE_BYTES - 92 * BATCH_BYTES;
  expect(late.numRows / ROWS_OF_BATCH).toBeGreaterThan(leftBytes / BATCH_BYTES - 6);
  expect(late.memoryBytes).toBeLessThan(leftBytes);
  const last = await opened(90);
  expect(last.memoryBytes).toBe(LEAST_BYTES);
  expect(last.numRows).toBeGreaterThan(0);

  // The user may want more than the page has.
  last.resume({ memoryBytes: PAGE_BYTES });
  await last.done;
  expect(last.numRows).toBe(90 * ROWS_OF_BATCH);
  last.close();
  expect(late.paused).toBeDefined();
  // What a closed table had is for those that wait, and then for the next ones.
  large.close();
  await late.done;
  expect(late.numRows).toBe(90 * ROWS_OF_BATCH);
  expect((await opened(30)).state).toBe("complete");
});

test("a table that paused goes on when the page gets more memory", async () => {
  setPageMemory(PAGE_BYTES);
  const [large, late] = [await opened(90), await opened(90)];
  expect(large.state).toBe("complete");
  expect(late.paused).toBeDefined();
  setPageMemory(PAGE_BYTES / 2);
  expect(late.paused).toBeDefined();
  setPageMemory(2 * PAGE_BYTES);
  await late.done;
  expect(late.numRows).toBe(90 * ROWS_OF_BATCH);
});

test("a table takes its own budget at most, and a page that sets nothing lets it", async () => {
  setPageMemory(PAGE_BYTES);
  const narrow = await opened(90, PAGE_BYTES / 2);
  expect(narrow.paused?.code).toBe("memory_budget_exceeded");
  expect(narrow.memoryBytes).toBe(PAGE_BYTES / 2);
  narrow.close();
  setPageMemory(undefined);
  const gib = 2 ** 30;
  const alone = new MemoryShare(5 * gib);
  expect(alone.grow(8 * gib)).toBe(5 * gib);
  const late = new MemoryShare(gib);
  expect(late.grow(gib)).toBe(gib / 16);
  alone.close();
  expect(late.grow(gib)).toBe(gib);
  late.close();
});

test("a file that cannot be opened takes nothing", async () => {
  setPageMemory(PAGE_BYTES);
  for (let attempt = 0; attempt < 40; attempt++) {
    const broken = open(new Uint8Array([...Buffer.from("PAR1"), ...new Uint8Array(60)]), {
      wasmSrc,
      readerSrc: new URL("../src/reader.ts", import.meta.url),
    });
    await expect(broken).rejects.toThrow();
  }
  expect((await opened(120)).state).toBe("complete");
});

test("drawn shares never exceed the page's memory by more than the least of each", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seededRandom(seed);
    const pageBytes = 1 + Math.floor(random() * 10_000);
    setPageMemory(pageBytes);
    const shares = new Set<MemoryShare>();
    const any = () => [...shares][Math.floor(random() * shares.size)];
    for (let step = 0; step < 60; step++) {
      const kind = random();
      if (kind < 0.3) shares.add(new MemoryShare(Math.floor(random() * pageBytes)));
      else if (kind < 0.7) any()?.grow(random() * pageBytes);
      else if (kind < 0.85) any()?.trim(random() * pageBytes);
      else {
        const closed = any();
        closed?.close();
        if (closed) shares.delete(closed);
      }
      const total = [...shares].reduce((sum, { bytes }) => sum + bytes, 0);
      expect(total, `seed ${seed}`).toBeLessThanOrEqual(pageBytes * (1 + shares.size / 32));
    }
    for (const share of shares) share.close();
  }
});

test("a page's memory is a positive number", () => {
  for (const bytes of [0, -1, Number.NaN]) {
    expect(() => setPageMemory(bytes)).toThrow(expect.objectContaining({ code: "bad_parameter" }));
  }
});
