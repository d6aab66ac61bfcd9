import { sumOf } from "./checksum.js";
import { type Decoded, fetchBody, type Input } from "./tasks.js";

/** The most bytes that Chromium returns in one read. */
const BUFFER_BYTES = 2 * 1024 * 1024;
/** The size of a page of wasm memory, by its specification. */
export const PAGE_BYTES = 65_536;

const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });

/** Passes the bytes of a stream to `take`. */
async function drain(input: Input, take: (bytes: Uint8Array) => void): Promise<void> {
  if (input.chunks !== undefined) {
    for (const chunk of input.chunks) take(chunk);
    return;
  }
  await drainBody(input.url, take);
}

/** Reads a body as fast as the browser provides it. Each piece is valid until `take` returns. */
export async function drainBody(url: string, take: (bytes: Uint8Array) => void): Promise<void> {
  const reader = (await fetchBody(url)).getReader({ mode: "byob" });
  let buffer = new ArrayBuffer(BUFFER_BYTES);
  for (;;) {
    const { value, done } = await reader.read(new Uint8Array(buffer));
    if (done) return;
    take(value);
    buffer = value.buffer;
  }
}

/** Reads the bytes and discards them. */
export async function drainOnly(input: Input): Promise<Decoded> {
  await drain(input, () => undefined);
  return { release: () => undefined };
}

/** Copies every byte once into wasm memory. The first run grows the memory; later ones reuse it. */
export async function copyToWasm(input: Input): Promise<Decoded> {
  const missing = input.numBytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
  const bytes = new Uint8Array(memory.buffer);
  let offset = 0;
  await drain(input, (chunk) => {
    bytes.set(chunk, offset);
    offset += chunk.length;
  });
  const values = new Float64Array(memory.buffer, 0, Math.floor(offset / 8));
  return {
    // Sums all bytes as numbers, because a stream of floats is nearly all numbers.
    touch: () => sumOf(values),
    release: () => undefined,
    memoryBytes: memory.buffer.byteLength,
  };
}
