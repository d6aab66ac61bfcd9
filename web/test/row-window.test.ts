import { expect, test } from "vitest";
import { CellKind, RowWindow } from "../src/model/row-window.js";

interface PackedCell {
  text: string;
  kind: CellKind;
  isCut?: boolean;
}

/** Packs cells as the decoder does. */
function pack(cells: readonly PackedCell[]): Uint8Array<ArrayBuffer> {
  const texts = new TextEncoder().encode(cells.map(({ text }) => text).join(""));
  const packed = new Uint8Array(cells.length * 5 + texts.length);
  const view = new DataView(packed.buffer);
  let end = 0;
  cells.forEach(({ text, kind, isCut }, index) => {
    end += text.length;
    view.setUint32(index * 4, end, true);
    packed[cells.length * 4 + index] = kind | (isCut ? 0x80 : 0);
  });
  packed.set(texts, cells.length * 5);
  return packed;
}

test("cells are unpacked as they were packed, with any characters", () => {
  const cells: PackedCell[] = [
    { text: "\ufeff9223372036854775807", kind: CellKind.value },
    { text: "日本語 🎉", kind: CellKind.value },
    { text: "", kind: CellKind.null },
    { text: "", kind: CellKind.value },
    { text: "NaN", kind: CellKind.notFinite },
    { text: "99999999999 (not a date)", kind: CellKind.raw },
    { text: "long", kind: CellKind.value, isCut: true },
    { text: "\u0000", kind: CellKind.value },
  ];
  const window = new RowWindow(pack(cells), 100, 104, 2);
  cells.forEach(({ text, kind, isCut = false }, index) => {
    const row = 100 + Math.floor(index / 2);
    const position = index % 2;
    expect(window.text(row, position)).toBe(text);
    expect(window.kind(row, position)).toBe(kind);
    expect(window.isCut(row, position)).toBe(isCut);
  });
});

test("an empty window is valid, a cell outside is an error", () => {
  const window = new RowWindow(new Uint8Array(0), 5, 5, 3);
  expect(() => window.kind(5, 0)).toThrow(RangeError);
});

test("a window that is too short for its cells is refused", () => {
  expect(() => new RowWindow(new Uint8Array(9), 0, 1, 2)).toThrow(/2 cells cannot be 9 bytes/);
});

test("a part has the same cells as the window", () => {
  const cells = Array.from({ length: 12 }, (_, index) => ({
    text: index === 7 ? "" : `cell ${index}`.padEnd(index + 6, "·"),
    kind: index === 7 ? CellKind.null : CellKind.value,
  }));
  const window = new RowWindow(pack(cells), 10, 14, 3);
  const part = window.part(11, 14, Uint32Array.of(2, 1));
  expect(part).toMatchObject({ start: 11, end: 14, numColumns: 2 });
  for (const [position, column] of [2, 1].entries()) {
    expect(part.texts(position)).toEqual(window.texts(column).slice(1));
    expect(part.validity(position)).toEqual(window.validity(column).slice(1));
    for (const row of [11, 12, 13]) {
      expect(part.text(row, position)).toBe(window.text(row, column));
      expect(part.kind(row, position)).toBe(window.kind(row, column));
    }
  }
});
