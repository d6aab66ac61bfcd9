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

const ROWS_PER_BATCH = 20_000;
const COLOURS = Array.from({ length: 500 }, (_, index) => `colour ${index} of five hundred`);

/**
 * Writes an Arrow file of `numBatches` × 20,000 rows: `n` (the row's number, plus `start`), `colour`
 * (a dictionary of texts), `path` (a list) and `place` (a struct), both of them null now and then.
 */
export function writeColours(file: string, numBatches: number, start = 0): void {
  const number = new Int32();
  const item = new Field("item", number, true);
  const list = new List(item);
  const struct = new Struct<{ x: Float64; n: Int32 }>([
    new Field("x", new Float64(), true),
    new Field("n", number, true),
  ]);
  const dictionary = vectorFromArray(COLOURS, new Utf8());
  const coded = new Dictionary(new Utf8(), number, 0);
  const schema = new Schema([
    new Field("n", number, true),
    new Field("colour", coded, true),
    new Field("path", list, true),
    new Field("place", struct, true),
  ]);
  const length = ROWS_PER_BATCH;
  const batches = Array.from({ length: numBatches }, (_, index) => {
    const row = (position: number) => start + index * length + position;
    const numbers = Int32Array.from({ length }, (_, position) => row(position));
    const codes = numbers.map((n) => Math.imul(n, 2654435761) >>> 23);
    // Lists of no to three items.
    const offsets = Int32Array.from({ length: length + 1 }, (_, position) => {
      const rest = position % 4;
      return ((position - rest) / 4) * 6 + (rest * (rest - 1)) / 2;
    });
    const items = Int32Array.from({ length: (length / 4) * 6 }, (_, position) => row(position));
    const validity = Uint8Array.from({ length: length / 8 }, (_, byte) => (byte % 5 ? 255 : 0xf7));
    const nulls = { nullCount: -1, nullBitmap: validity };
    const floats = Float64Array.from(numbers, (n) => n / 7);
    const children = [
      makeData({ type: number, length, data: numbers }),
      makeData({ type: coded, length, data: codes.map((code) => code % 500), dictionary }),
      makeData({
        type: list,
        length,
        ...nulls,
        valueOffsets: offsets,
        child: makeData({ type: number, length: items.length, data: items }),
      }),
      makeData({
        type: struct,
        length,
        ...nulls,
        children: [
          makeData({ type: new Float64(), length, data: floats }),
          makeData({ type: number, length, data: numbers }),
        ],
      }),
    ];
    const rows = new Struct(schema.fields);
    return new RecordBatch(schema, makeData({ type: rows, length, children }));
  });
  writeFileSync(file, tableToIPC(new Table(schema, batches), "file"));
}
