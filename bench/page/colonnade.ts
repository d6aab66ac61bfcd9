import init, { Decoder } from "../../web/pkg/colonnade_wasm.js";
import { readBody } from "../../web/src/http/body.js";
import type { open } from "../../web/src/index.js";
import { RowWindow } from "../../web/src/model/row-window.js";
import { BodyDecoder } from "../../web/src/worker/body-decoder.js";
import { sumOf, textValue } from "./checksum.js";
import { touchTable } from "./tables/colonnade.js";
import { type Decoded, fetchBody, type Input, streamOf } from "./tasks.js";

type Open = typeof open;

const MEMORY_BYTES = 2 ** 30;
/** The rows that are read at once: 1 MiB of floats. */
const READ_ROWS = 131_072;

const PACKAGE_URL = "/colonnade/index.js";
const WASM_URL = "/colonnade/colonnade.wasm";

let module: { memory: WebAssembly.Memory } | undefined;
let shipped: { open: Open } | undefined;

/** Loads the wasm module, and the package as shipped. */
export async function prepare(): Promise<void> {
  module = await init({ module_or_path: WASM_URL });
  Decoder.warmUp();
  shipped = (await import(/* @vite-ignore */ PACKAGE_URL)) as { open: Open };
}

/** Reads with the decoder in this worker, as the package's worker does; all runs share one instance. */
export async function readWithModule(input: Input): Promise<Decoded & { body: BodyDecoder }> {
  if (module === undefined) throw new Error("the module is not loaded");
  const { memory } = module;
  const decoder = new Decoder(MEMORY_BYTES);
  const body = new BodyDecoder(decoder, memory);
  if (input.chunks !== undefined) {
    for (const chunk of input.chunks) {
      body.push(chunk);
      input.onBatches?.(body.numBatches);
    }
  } else {
    const stream = await fetchBody(input.url);
    for await (const piece of readBody({ stream }, new AbortController().signal)) body.push(piece);
  }
  body.end("marker");
  const { numRows, kernels, schema } = body;
  const types = schema?.fields.map(({ type }) => type) ?? [];
  return {
    body,
    touch: () => {
      let total = 0;
      for (const [column, type] of types.entries()) {
        for (let start = 0; start < numRows; start += READ_ROWS) {
          const end = Math.min(start + READ_ROWS, numRows);
          if (type === "double") {
            const raw = kernels.numbers(0, column, start, end);
            total += sumOf(new Float64Array(raw?.bytes.buffer ?? new ArrayBuffer(0)));
          } else {
            const packed = kernels.window(0, start, end, Uint32Array.of(column), 0);
            total += sumTexts(new RowWindow(packed, start, end, 1));
          }
        }
      }
      return total;
    },
    release: () => decoder.free(),
    memoryBytes: memory.buffer.byteLength,
  };
}

function sumTexts(window: RowWindow): number {
  let total = 0;
  for (let row = window.start; row < window.end; row++) total += textValue(window.text(row, 0));
  return total;
}

/** Reads with the package as shipped; later tables reuse the worker and the instance of the first one. */
function readWithPackage(makeSource: (input: Input) => Parameters<Open>[0]) {
  return async (input: Input): Promise<Decoded> => {
    if (shipped === undefined) throw new Error("the package is not loaded");
    const { open } = shipped;
    const table = await open(makeSource(input), { memoryBytes: MEMORY_BYTES });
    await table.done;
    return { touch: () => touchTable(table), release: () => table.close() };
  };
}

/** `open(ReadableStream)`. */
export const openStream = readWithPackage(({ chunks }) => streamOf(chunks ?? []));
/** `open(address)`. */
export const openUrl = readWithPackage(({ url }) => url);
/** `open(ArrayBuffer)`. */
export const openBuffer = readWithPackage(({ whole }) => whole ?? new ArrayBuffer(0));
