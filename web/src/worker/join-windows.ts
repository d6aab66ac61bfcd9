import type { RawValues } from "../model/raw-column.js";

/** A packed window (see `RowWindow`) of `numCells` cells. */
export interface PackedWindow {
  packed: Uint8Array<ArrayBuffer>;
  numCells: number;
}

/** Joins packed windows of consecutive rows. */
export function joinWindows(windows: readonly PackedWindow[]): Uint8Array<ArrayBuffer> {
  if (windows.length === 1 && windows[0] !== undefined) return windows[0].packed;
  const numCells = windows.reduce((sum, window) => sum + window.numCells, 0);
  const textBytes = windows.reduce(
    (sum, { packed, numCells: n }) => sum + packed.length - n * 5,
    0,
  );
  const joined = new Uint8Array(numCells * 5 + textBytes);
  const ends = new Uint32Array(joined.buffer, 0, numCells);
  let cell = 0;
  let textAt = numCells * 5;
  let endChars = 0;
  for (const { packed, numCells: n } of windows) {
    const windowEnds = new Uint32Array(packed.buffer, packed.byteOffset, n);
    for (let index = 0; index < n; index++)
      ends[cell + index] = endChars + (windowEnds[index] ?? 0);
    endChars = ends[cell + n - 1] ?? endChars;
    joined.set(packed.subarray(n * 4, n * 5), numCells * 4 + cell);
    joined.set(packed.subarray(n * 5), textAt);
    textAt += packed.length - n * 5;
    cell += n;
  }
  return joined;
}

/** Joins values of consecutive rows; null if they are not numeric. */
export function joinValues(values: readonly (RawValues | null)[]): RawValues | null {
  const raw = values.filter((value) => value !== null);
  const [first] = raw;
  if (first === undefined || raw.length < values.length) return null;
  const bytes = joinBytes(raw.map((value) => value.bytes));
  return { kind: first.kind, bytes, validity: joinBytes(raw.map((value) => value.validity)) };
}

function joinBytes(arrays: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(arrays.reduce((sum, array) => sum + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    joined.set(array, at);
    at += array.length;
  }
  return joined;
}
