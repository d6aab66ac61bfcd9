// The streams that all readers read: seeded random numbers, uncompressed, with the end-of-stream marker.

import {
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";

const SEED = 0x9e3779b9;

/** The text that `find` searches for; only the last row contains it. */
export const NEEDLE = "zebra crossing";

/** A stream of the sweep: 1 GiB in 16 columns, in batches of one size. */
const sweep = (batchRows) => ({
  rows: 2 ** 23,
  batchRows,
  columns: 16,
  quickRows: 2 ** 18,
  repeats: true,
  make: floatBatch,
});

/**
 * Streams by name, with their full and their `--quick` size. A stream that `repeats` sends the same batch
 * again and again, so that a GiB does not have to be in memory.
 */
const SHAPES = {
  twenty: { rows: 20, batchRows: 20, columns: 4, quickRows: 20, make: words },
  floats: { rows: 1_000_000, batchRows: 1000, columns: 10, quickRows: 20_000, make: floatBatch },
  small: { rows: 524_288, batchRows: 128, columns: 16, quickRows: 4096, make: floatBatch },
  column: { rows: 10_000_000, batchRows: 65_536, columns: 1, quickRows: 200_000, make: wideFloats },
  text: { rows: 1_000_000, batchRows: 65_536, columns: 1, quickRows: 20_000, make: sentences },
  utf8: { rows: 500_000, batchRows: 65_536, columns: 4, quickRows: 10_000, make: words },
  dictionary: { rows: 1_000_000, batchRows: 65_536, columns: 4, quickRows: 20_000, make: codes },
  "16 KiB": sweep(128),
  "64 KiB": sweep(512),
  "256 KiB": sweep(2048),
  "1 MiB": sweep(8192),
  "16 MiB": sweep(131_072),
  frame: {
    rows: 2 ** 25,
    batchRows: 8192,
    columns: 5,
    quickRows: 2 ** 18,
    repeats: true,
    make: frameBatch,
  },
  wide: {
    rows: 102_400,
    batchRows: 1024,
    columns: 400,
    quickRows: 4096,
    repeats: true,
    make: floatBatch,
  },
  tall: {
    rows: 100_007_936,
    batchRows: 65_536,
    columns: 1,
    quickRows: 2 ** 18,
    repeats: true,
    make: floatBatch,
  },
};

/**
 * Returns the size and shape of a stream, and a function that yields its bytes in pieces of at most 1 MiB.
 *
 * @param {keyof typeof SHAPES} name
 * @param {boolean} isQuick whether to make the small stream, mostly a fiftieth of the full one
 */
export function makeStream(name, isQuick) {
  const shape = SHAPES[name];
  const numRows = isQuick ? shape.quickRows : shape.rows;
  const names = Array.from({ length: shape.columns }, (_, index) => `c${index}`);
  const { repeats: isRepeated = false, batchRows } = shape;
  const numBatches = Math.ceil(numRows / batchRows);
  if (!isRepeated) {
    const bytes = encode(shape, names, numRows);
    const numBytes = bytes.length;
    return { numBytes, numRows, numBatches, numColumns: names.length, pieces: () => cut(bytes) };
  }
  const one = encode(shape, names, batchRows);
  const schemaBytes = 8 + new DataView(one.buffer, one.byteOffset).getInt32(4, true);
  const schema = one.subarray(0, schemaBytes);
  const batch = one.subarray(schemaBytes, one.length - MARKER_BYTES);
  const marker = one.subarray(one.length - MARKER_BYTES);
  const numAtOnce = Math.min(numBatches, Math.max(1, Math.floor(PIECE_BYTES / batch.length)));
  const many = Buffer.concat(Array(numAtOnce).fill(batch));
  return {
    numBytes: schemaBytes + numBatches * batch.length + MARKER_BYTES,
    numRows: numBatches * batchRows,
    numBatches,
    numColumns: names.length,
    *pieces() {
      yield schema;
      for (let left = numBatches; left > 0; left -= numAtOnce) {
        yield* cut(many.subarray(0, Math.min(left, numAtOnce) * batch.length));
      }
      yield marker;
    },
  };
}

/** Spec: `FFFFFFFF 00000000` ends a stream. */
const MARKER_BYTES = 8;
const PIECE_BYTES = 1024 * 1024;

function* cut(bytes) {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    yield bytes.subarray(start, start + PIECE_BYTES);
  }
}

/** Encodes a whole stream with its marker. */
function encode(shape, names, numRows) {
  const random = randomBits(SEED);
  const batches = [];
  let schema;
  for (let row = 0; row < numRows; row += shape.batchRows) {
    const length = Math.min(shape.batchRows, numRows - row);
    const isLast = row + length === numRows;
    const children = names.map((_, index) => shape.make(length, random, isLast, index));
    schema ??= new Schema(names.map((name, index) => new Field(name, children[index].type, false)));
    const type = new Struct(schema.fields);
    batches.push(new RecordBatch(schema, makeData({ type, length, nullCount: 0, children })));
  }
  return tableToIPC(new Table(batches), "stream");
}

/** Multiples of 1/1024 below 1024, so that their sums are exact in any order. */
function floatBatch(length, random) {
  const data = Float64Array.from({ length }, () => (random() >>> 12) / 1024);
  return makeData({ type: new Float64(), length, nullCount: 0, data });
}

/** A 64-bit id in the first column, floats in the others. */
function frameBatch(length, random, _isLast, index) {
  if (index > 0) return floatBatch(length, random);
  const data = BigInt64Array.from({ length }, (_, row) => BigInt(row));
  return makeData({ type: new Int64(), length, nullCount: 0, data });
}

/** Floats between −0.5 and 0.5 with 32 random bits. */
function wideFloats(length, random) {
  const data = Float64Array.from({ length }, () => random() / 2 ** 32 - 0.5);
  return makeData({ type: new Float64(), length, nullCount: 0, data });
}

/** Lower-case words of 2 to 18 letters. */
function words(length, random) {
  const lengths = Array.from({ length }, () => 2 + (random() % 17));
  return utf8(lengths, () => 97 + (random() % 26));
}

/** Texts of 80 letters and blanks; the last of all rows ends with {@link NEEDLE}. */
function sentences(length, random, isLast) {
  const letters = "eeetaoinshrdlu    ";
  const column = utf8(Array(length).fill(80), () => letters.charCodeAt(random() % letters.length));
  if (isLast) new TextEncoder().encodeInto(NEEDLE, column.values.subarray(-NEEDLE.length));
  return column;
}

function utf8(lengths, letter) {
  const valueOffsets = new Int32Array(lengths.length + 1);
  lengths.forEach((length, index) => {
    valueOffsets[index + 1] = valueOffsets[index] + length;
  });
  const data = Uint8Array.from({ length: valueOffsets[lengths.length] }, letter);
  return makeData({ type: new Utf8(), length: lengths.length, nullCount: 0, valueOffsets, data });
}

const DICTIONARY = vectorFromArray(
  Array.from({ length: 1000 }, (_, index) => `category ${index}`),
  new Utf8(),
);

/** Dictionary codes of 1000 texts. */
function codes(length, random, _isLast, id) {
  const type = new Dictionary(new Utf8(), new Int32(), id);
  const data = Int32Array.from({ length }, () => random() % 1000);
  return makeData({ type, length, nullCount: 0, data, dictionary: DICTIONARY });
}

/** A generator of unsigned 32-bit numbers (splitmix32), the same for each seed. */
export function randomBits(seed) {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let bits = state ^ (state >>> 16);
    bits = Math.imul(bits, 0x21f0aaad);
    bits ^= bits >>> 15;
    bits = Math.imul(bits, 0x735a2d97);
    return (bits ^ (bits >>> 15)) >>> 0;
  };
}
