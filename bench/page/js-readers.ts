import { tableFromIPC } from "@uwdata/flechette";
import { type RecordBatch, RecordBatchReader } from "apache-arrow";
import { touchBatches } from "./tables/arrow.js";
import { touchTable } from "./tables/flechette.js";
import { type Decoded, type Input, streamOf } from "./tasks.js";

/** apache-arrow's reader of streams, which returns batches as they arrive. */
export async function arrowAsync(input: Input): Promise<Decoded> {
  const reader =
    input.chunks === undefined
      ? await RecordBatchReader.from(fetch(input.url))
      : await RecordBatchReader.from(streamOf(input.chunks));
  const batches: RecordBatch[] = [];
  for await (const batch of reader) {
    batches.push(batch);
    input.onBatches?.(batches.length);
  }
  return { touch: () => touchBatches(batches), release: () => undefined };
}

/** apache-arrow's reader of bytes in memory, given as chunks. */
export async function arrowSync(input: Input): Promise<Decoded> {
  if (input.chunks === undefined) throw new Error("the sync reader cannot fetch");
  const batches: RecordBatch[] = [];
  for (const batch of RecordBatchReader.from(input.chunks)) {
    batches.push(batch);
    input.onBatches?.(batches.length);
  }
  return { touch: () => touchBatches(batches), release: () => undefined };
}

/** flechette, which needs the whole stream in one buffer: fetched as one, or assembled here. */
export async function flechette(input: Input): Promise<Decoded> {
  if (input.chunks !== undefined) return parse(assemble(input.chunks, input.numBytes));
  return parse(await (await fetch(input.url)).arrayBuffer());
}

/** flechette, given one buffer. */
export async function flechetteWhole(input: Input): Promise<Decoded> {
  return parse(input.whole ?? new ArrayBuffer(0));
}

function parse(bytes: ArrayBuffer | Uint8Array): Decoded {
  const table = tableFromIPC(bytes);
  return { touch: () => touchTable(table), release: () => undefined };
}

function assemble(chunks: Uint8Array[], numBytes: number): Uint8Array {
  const bytes = new Uint8Array(numBytes);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
