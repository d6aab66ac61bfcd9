import type { RawValues } from "../model/raw-column.js";

/** A packed window (see `RowWindow`) of `numCells` cells. */
export interface PackedPart {
  packed: Uint8Array<ArrayBuffer>;
  numCells: number;
}

/** Packed windows of rows that follow one another as one. */
export function joinWindows(parts: readonly PackedPart[]): Uint8Array<ArrayBuffer> {
  if (parts.length === 1 && parts[0] !== undefined) return parts[0].packed;
  const numCells = parts.reduce((sum, part) => sum + part.numCells, 0);
  const textBytes = parts.reduce((sum, { packed, numCells: n }) => sum + packed.length - n * 5, 0);
  const joined = new Uint8Array(numCells * 5 + textBytes);
  const ends = new Uint32Array(joined.buffer, 0, numCells);
  let cell = 0;
  let textAt = numCells * 5;
  let endChars = 0;
  for (const { packed, numCells: n } of parts) {
    const partEnds = new Uint32Array(packed.buffer, packed.byteOffset, n);
    for (let index = 0; index < n; index++) ends[cell + index] = endChars + (partEnds[index] ?? 0);
    endChars = ends[cell + n - 1] ?? endChars;
    joined.set(packed.subarray(n * 4, n * 5), numCells * 4 + cell);
    joined.set(packed.subarray(n * 5), textAt);
    textAt += packed.length - n * 5;
    cell += n;
  }
  return joined;
}

/** Values of rows that follow one another as one; null where they are no numbers. */
export function joinValues(parts: readonly (RawValues | null)[]): RawValues | null {
  const raw = parts.filter((part) => part !== null);
  const [first] = raw;
  if (first === undefined || raw.length < parts.length) return null;
  const bytes = joinBytes(raw.map((part) => part.bytes));
  return { kind: first.kind, bytes, validity: joinBytes(raw.map((part) => part.validity)) };
}

function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
