import { readFileSync } from "node:fs";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { BodyDecoder } from "../src/worker/body-decoder.js";

const MEMORY_BYTES = 2 ** 40;
const CLAIMED_BYTES = 2 ** 28;
const MAX_MODULE_BYTES = 2 ** 32;
const SMALL_BYTES = 2 ** 14;
const TEXT_ROWS = 40_000;

const numbers = Float64Array.from({ length: 1_000_000 }, (_, row) => row / 7);
const stream = tableToIPC(tableFromArrays({ numbers }), "stream");

/** A stream whose only batch claims a body of `bodyBytes` that never arrives. */
function claiming(bodyBytes: number): Uint8Array {
  const bytes = tableToIPC(tableFromArrays({ x: new Float64Array(1) }), "stream");
  const at = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const message = 8 + at.getInt32(4, true);
  // The field `bodyLength` of the FlatBuffers table at the start of the metadata.
  const table = message + 8 + at.getUint32(message + 8, true);
  const vtable = table - at.getInt32(table, true);
  at.setBigInt64(table + at.getUint16(vtable + 10, true), BigInt(bodyBytes), true);
  return bytes.subarray(0, message + 8 + at.getInt32(message + 4, true));
}

test("addresses beyond 2 GiB work, and memory that cannot grow is an error", async () => {
  const module = readFileSync(new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url));
  const { memory } = await init({ module_or_path: module });
  const open = () => new BodyDecoder(new Decoder(MEMORY_BYTES), memory);
  const first = ({ kernels }: BodyDecoder, numRows: number) =>
    kernels.numbers(0, 0, 0, numRows)?.bytes ?? new Uint8Array(0);
  const expected = new Uint8Array(numbers.buffer);

  const held: BodyDecoder[] = [];
  const claim = (bodyBytes = CLAIMED_BYTES) => {
    const decoder = open();
    held.push(decoder);
    decoder.push(claiming(bodyBytes));
  };
  while (memory.buffer.byteLength <= 2 ** 31) claim();
  const high = open();
  high.push(stream);
  expect(Buffer.compare(first(high, numbers.length), expected)).toBe(0);

  // Until not even a small body fits.
  for (let bodyBytes = CLAIMED_BYTES; bodyBytes >= SMALL_BYTES; bodyBytes /= 4) {
    expect(() => {
      for (let claimed = 0; claimed <= MAX_MODULE_BYTES; claimed += bodyBytes) claim(bodyBytes);
    }).toThrow(expect.objectContaining({ code: "memory_budget_exceeded" }));
  }
  // The module still works: there is memory for small allocations, which cannot be refused.
  expect(high.kernels.window(0, 0, TEXT_ROWS, Uint32Array.of(0), 0).byteLength).toBeGreaterThan(
    TEXT_ROWS * 10,
  );
  const few = expected.subarray(0, TEXT_ROWS * Float64Array.BYTES_PER_ELEMENT);
  expect(Buffer.compare(first(high, TEXT_ROWS), few)).toBe(0);
  const next = open();
  const schemaBytes = 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
  next.push(stream.subarray(0, schemaBytes));
  expect(next.schema?.fields[0]?.name).toBe("numbers");
}, 60_000);
