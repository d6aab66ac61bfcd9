import { writeFileSync } from "node:fs";
import {
  Dictionary,
  Field,
  Int32,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Utf8,
  Vector,
  vectorFromArray,
} from "apache-arrow";

const ROWS_PER_BATCH = 20_000;
const FIRST = ["a", "b"];
const GROWN = [...FIRST, "c", ""];
const OTHER = ["x", "ü", "z"];

/** The words of each batch; row k of it has word k modulo their number. */
const BATCHES = [FIRST, GROWN, GROWN, OTHER];

/** Writes an Arrow stream of `n` and `word`, whose dictionary stays, grows and is replaced. */
export function writeWords(file: string): void {
  const key = new Int32();
  const coded = new Dictionary(new Utf8(), key, 0);
  const schema = new Schema([new Field("n", key, true), new Field("word", coded, true)]);
  const chunkOf = (words: string[]) => vectorFromArray(words, new Utf8()).data;
  const [first, more] = [chunkOf(FIRST), chunkOf(GROWN.slice(FIRST.length))];
  const grown = new Vector([...first, ...more]);
  const dictionaries = [new Vector(first), grown, grown, new Vector(chunkOf(OTHER))];
  const length = ROWS_PER_BATCH;
  const batches = dictionaries.map((dictionary, index) => {
    const numbers = Int32Array.from({ length }, (_, row) => index * length + row);
    const codes = numbers.map((n) => n % dictionary.length);
    const children = [
      makeData({ type: key, length, data: numbers }),
      makeData({ type: coded, length, data: codes, dictionary }),
    ];
    return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children }));
  });
  writeFileSync(file, RecordBatchStreamWriter.writeAll(batches).toUint8Array(true));
}

/** The rows of the stream of {@link writeWords}. */
export function wordRows(): { n: number; word: string | undefined }[] {
  return BATCHES.flatMap((words, index) =>
    Array.from({ length: ROWS_PER_BATCH }, (_, row) => {
      const n = index * ROWS_PER_BATCH + row;
      return { n, word: words[n % words.length] };
    }),
  );
}
