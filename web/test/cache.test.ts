import { expect, test } from "vitest";
import { CellCache, type CellRect, TILE_ROWS } from "../src/grid/cache.js";
import { RowWindow } from "../src/model/row-window.js";

/** A reader that tests answer by hand, so that they decide the order. */
function manualReader() {
  const asked: { start: number; end: number; signal: AbortSignal; answer: () => Promise<void> }[] =
    [];
  const read = (start: number, end: number, columns: Uint32Array, signal: AbortSignal) =>
    new Promise<RowWindow>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("cancelled")));
      const answer = async () => {
        const packed = new Uint8Array((end - start) * columns.length * 5);
        resolve(new RowWindow(packed, start, end, columns.length));
        await Promise.resolve();
        await Promise.resolve();
      };
      asked.push({ start, end, signal, answer });
    });
  return { asked, read };
}

function rows(rowStart: number, rowEnd: number): CellRect {
  return { rowStart, rowEnd, columnStart: 0, columnEnd: 3 };
}

test("visible cells are requested first, and cached once they arrive", async () => {
  let arrivals = 0;
  const { asked, read } = manualReader();
  const cache = new CellCache(read, () => arrivals++);
  cache.want([rows(640, 660), rows(600, 720)], 100_000, 3);
  expect(asked[0]).toMatchObject({ start: 640, end: 704 });
  expect(cache.cell(640, 0)).toBeUndefined();
  await asked[0]?.answer();
  expect(arrivals).toBe(1);
  expect(cache.cell(640, 2)?.position).toBe(2);
});

test("requests for cells out of sight are cancelled, and repeated when they are visible again", async () => {
  const { asked, read } = manualReader();
  const cache = new CellCache(read, () => undefined);
  cache.want([rows(0, 20), rows(0, 20)], 100_000, 3);
  cache.want([rows(50_000, 50_020), rows(50_000, 50_020)], 100_000, 3);
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  await Promise.resolve();
  await Promise.resolve();
  cache.want([rows(0, 20), rows(0, 20)], 100_000, 3);
  expect(asked.at(-1)).toMatchObject({ start: 0, end: TILE_ROWS });
});

test("a tile read before its last row arrived is read again, a complete one is not", async () => {
  const { asked, read } = manualReader();
  const cache = new CellCache(read, () => undefined);
  cache.want([rows(0, 10), rows(0, 10)], 10, 3);
  await asked[0]?.answer();
  expect(cache.cell(9, 0)).toBeDefined();
  expect(cache.cell(10, 0)).toBeUndefined();
  cache.want([rows(0, 20), rows(0, 20)], 1000, 3);
  expect(asked).toHaveLength(2);
  await asked[1]?.answer();
  expect(cache.cell(10, 0)).toBeDefined();
  cache.want([rows(0, 20), rows(0, 20)], 2000, 3);
  expect(asked).toHaveLength(2);
});

test("cells that could not be read are reported, and read again on retry", async () => {
  let isLost = true;
  const asked: number[] = [];
  const cache = new CellCache(
    async (start, end, columns) => {
      asked.push(start);
      if (isLost) throw new Error("lost");
      return new RowWindow(new Uint8Array((end - start) * columns.length * 5), start, end, 3);
    },
    () => undefined,
  );
  const look = async () => {
    cache.want([rows(0, 20), rows(0, 20)], 100_000, 3);
    await new Promise((resolve) => setTimeout(resolve));
  };
  await look();
  expect(cache.failure).toMatchObject({ message: "lost" });
  expect(cache.hasFailed(5, 1)).toBe(true);
  isLost = false;
  await look();
  expect(asked, "not by itself").toEqual([0]);
  cache.retry();
  await look();
  expect(cache.cell(5, 1)).toBeDefined();
  expect(cache.failure).toBeUndefined();
});
