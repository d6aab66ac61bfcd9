import { writeFileSync } from "node:fs";
import {
  Dictionary,
  Field,
  Float64,
  Int32,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";

/** The number of rows of a batch. */
const LENGTH = 20_000;
const COLOURS = Array.from({ length: 500 }, (_, index) => `colour ${index} of five hundred`);
const colourOf = (n: number) => (Math.imul(n, 2654435761) >>> 8) % COLOURS.length;

/** The index of a row's first list item in its batch; lists have 0, 1, 2 or 3 items in turn. */
function itemOffset(position: number): number {
  const rest = position % 4;
  return ((position - rest) / 4) * 6 + (rest * (rest - 1)) / 2;
}

/**
 * Writes an Arrow file of `numBatches` × 20,000 rows with the columns `n` (the row's number plus
 * `start`), `colour` (a dictionary of texts), `path` (a list) and `place` (a struct). The last two are
 * null in every 40th row.
 */
export function writeColours(file: string, numBatches: number, start = 0): void {
  const int = new Int32();
  const list = new List(new Field("item", int, true));
  const place = new Struct([new Field("x", new Float64(), true), new Field("n", int, true)]);
  const coded = new Dictionary(new Utf8(), int, 0);
  const dictionary = vectorFromArray(COLOURS, new Utf8());
  const types = { n: int, colour: coded, path: list, place };
  const schema = new Schema(
    Object.entries(types).map(([name, type]) => new Field(name, type, true)),
  );
  const rows = new Struct(schema.fields);
  const length = LENGTH;
  const valueOffsets = Int32Array.from({ length: length + 1 }, (_, position) =>
    itemOffset(position),
  );
  const nullBitmap = Uint8Array.from({ length: length / 8 }, (_, byte) => (byte % 5 ? 255 : 0xf7));
  const nullable = { length, nullCount: -1, nullBitmap };
  const batches = Array.from({ length: numBatches }, (_, index) => {
    const first = start + index * length;
    const numbers = Int32Array.from({ length }, (_, position) => first + position);
    const items = Int32Array.from({ length: itemOffset(length) }, (_, item) => first + item);
    const codes = numbers.map(colourOf);
    const floats = Float64Array.from(numbers, (n) => n / 7);
    const n = makeData({ type: int, length, data: numbers });
    const x = makeData({ type: new Float64(), length, data: floats });
    const child = makeData({ type: int, length: items.length, data: items });
    const children = [
      n,
      makeData({ type: coded, length, data: codes, dictionary }),
      makeData({ type: list, ...nullable, valueOffsets, child }),
      makeData({ type: place, ...nullable, children: [x, n] }),
    ];
    return new RecordBatch(schema, makeData({ type: rows, length, children }));
  });
  writeFileSync(file, tableToIPC(new Table(schema, batches), "file"));
}

/** The rows `[start, end)` of such a file. */
export function colourRows(start: number, end: number): object[] {
  return Array.from({ length: end - start }, (_, index) => {
    const n = start + index;
    const position = n % LENGTH;
    const isNull = position % 40 === 3;
    const item = n - position + itemOffset(position);
    return {
      n,
      colour: COLOURS[colourOf(n)],
      path: isNull ? null : Array.from({ length: position % 4 }, (_, offset) => item + offset),
      place: isNull ? null : { x: n / 7, n },
    };
  });
}
