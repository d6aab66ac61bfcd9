// Decodes bytes with the built module and does with the rows everything that a page can request, as
// `core/tests/hostile/use_table.rs` does with the native decoder. Results are not checked, but nothing
// may trap.

import { readFileSync } from "node:fs";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { ColonnadeError } from "../src/model/errors.js";
import type { Schema } from "../src/model/schema.js";
import type { WasmDecoder } from "../src/worker/body-decoder.js";
import type { WasmJob, WasmView } from "../src/worker/wasm-kernels.js";

/** The memory budget of the rows, as in `core/tests/hostile/main.rs`. */
export const BUDGET_BYTES = 16 * 2 ** 20;
/** The number of columns that are used. */
const MAX_COLUMNS = 40;
/** The number of rows that are read at either end of a table. */
const MAX_ROWS = 100;
/** The maximum number of rows that jobs process. */
const MAX_WORK_ROWS = 1_000_000;
/** The maximum number of steps of a job. */
const MAX_STEPS = 50;

const module = readFileSync(new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url));
const { memory } = await init({ module_or_path: module });

/** Runs `work`; returns the code of its error, or `undefined`. A trap is thrown on. */
function codeOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (thrown) {
    const { code } = ColonnadeError.from(thrown, "decode_error");
    if (code === "decoder_crashed" || code === "decode_error") throw thrown;
    return code;
  }
}

/** Writes `bytes` to the decoder, as a worker does; bytes after the stream are ignored. */
function push(decoder: WasmDecoder, bytes: Uint8Array): void {
  for (let taken = 0; taken < bytes.length && !decoder.isComplete(); ) {
    const numBytes = Math.min(decoder.spaceLen(), bytes.length - taken);
    const space = new Uint8Array(memory.buffer, decoder.spacePtr() >>> 0, numBytes);
    space.set(bytes.subarray(taken, taken + numBytes));
    taken += numBytes;
    decoder.advance(numBytes);
  }
}

/** Runs a job for some steps, and reads its result if that is its end. */
function runJob(decoder: WasmDecoder, begin: () => WasmJob, read?: (view: WasmView) => void): void {
  codeOf(() => {
    const job = begin();
    for (let step = 0; step < MAX_STEPS; step++) {
      if (!decoder.step(job)) continue;
      const result = decoder.finishJob(job);
      if (typeof result === "string") return;
      read?.(result);
      result.free();
      return;
    }
    job.free();
  });
}

function useColumn(decoder: WasmDecoder, view: WasmView, name: string, index: number): void {
  const numRows = view.numRows();
  codeOf(() => {
    const values = decoder.values(view, index, 0, Math.min(numRows, MAX_ROWS));
    values?.bytes();
    values?.validity();
    values?.free();
    decoder.repeats(view, index, 0, Math.min(numRows, MAX_ROWS))?.free();
  });
  runJob(decoder, () => decoder.summary(name, 2 ** 20));
  runJob(
    decoder,
    () => decoder.sort(view, [name], Uint8Array.of(index % 2)),
    (sorted) => decoder.window(sorted, 0, Math.min(sorted.numRows(), 10), Uint32Array.of(index), 0),
  );
  for (const predicate of [
    { op: "is_null", column: name },
    { op: "ge", column: name, value: "1" },
    { op: "contains", column: name, value: "a" },
  ]) {
    runJob(decoder, () => decoder.filter(view, JSON.stringify(predicate)));
  }
}

function useTable(decoder: WasmDecoder): void {
  const json = decoder.schemaJson();
  if (json === undefined) return;
  const { fields } = JSON.parse(json) as Schema;
  const columns = Uint32Array.from(fields.slice(0, MAX_COLUMNS), (_, index) => index);
  const view = decoder.allRows();
  const numRows = view.numRows();
  for (const [start, end] of [
    [0, Math.min(numRows, MAX_ROWS)],
    [Math.max(numRows - MAX_ROWS, 0), numRows],
  ] as const) {
    for (const maxChars of [0, 20]) {
      codeOf(() => decoder.window(view, start, end, columns, maxChars));
    }
  }
  if (numRows <= MAX_WORK_ROWS) {
    for (const index of columns) useColumn(decoder, view, fields[index]?.name ?? "", index);
    runJob(decoder, () => decoder.find(view, "1", 0, 10, undefined, false));
    const pieces = decoder.toStream();
    for (let piece = 0; piece < MAX_STEPS && pieces.next() !== undefined; piece++);
    pieces.free();
  }
  view.free();
}

/**
 * Decodes a stream, and a further response `second` if there is one, and uses the rows. Returns the
 * error code of the stream, or `table`. Throws if the module traps.
 */
export function decodeAndUse(stream: Uint8Array, second?: Uint8Array): string {
  const decoder: WasmDecoder = new Decoder(BUDGET_BYTES);
  const read = (bytes: Uint8Array) =>
    codeOf(() => {
      push(decoder, bytes);
      decoder.finish();
    });
  const code = read(stream);
  useTable(decoder);
  if (second !== undefined) {
    decoder.resume(decoder.numRows());
    read(second);
    useTable(decoder);
  }
  decoder.free();
  return code ?? "table";
}
