import { readFileSync } from "node:fs";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import type { KernelWork } from "../src/rpc/messages.js";
import { BodyDecoder } from "../src/worker/body-decoder.js";
import { seededRandom } from "./random.js";

const NUM_ROWS = 1_000_000;
const BUDGET_BYTES = 12_000_000;
const NEVER = new AbortController().signal;

const random = seededRandom(5);
const x = Float64Array.from({ length: NUM_ROWS }, () => random());
const stream = tableToIPC(tableFromArrays({ x }), "stream");
const schemaBytes = 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
/** The schema and a batch, without an end. */
const begun = stream.subarray(0, -8);

/** Fills the budget while `work` is between two slices, and drops rows as a windowed table does. */
async function fillDuring(
  work: (decoder: BodyDecoder) => Promise<unknown>,
): Promise<{ decoder: BodyDecoder; work: Promise<unknown> }> {
  const { memory } = await init({
    module_or_path: readFileSync(new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url)),
  });
  const decoder = new BodyDecoder(new Decoder(BUDGET_BYTES), memory);
  decoder.push(begun);
  expect(decoder.numRows).toBe(NUM_ROWS);
  const running = work(decoder);
  running.catch(() => undefined);
  expect(() => decoder.push(stream.subarray(schemaBytes))).toThrow(
    expect.objectContaining({ code: "memory_budget_exceeded" }),
  );
  decoder.kernels.releaseAll();
  decoder.keepFirst(0);
  expect(decoder.memoryBytes).toBeLessThan(BUDGET_BYTES / 4);
  return { decoder, work: running };
}

test.each<KernelWork>([
  { kind: "summary", column: "x", maxCounted: 100, view: 0 },
  {
    kind: "find",
    view: 0,
    find: { text: "no such", from: 0, limit: 9, columns: undefined, matchCase: false },
  },
  { kind: "sort", view: 0, keys: [{ column: "x", descending: false }] },
])("$kind that runs when the rows are dropped keeps none of them", async (asked) => {
  const { decoder, work } = await fillDuring(({ kernels }) =>
    kernels.run(asked, NEVER, () => undefined),
  );
  await expect(work).rejects.toMatchObject({ code: "cancelled" });
  decoder.free();
});

test("an Arrow stream that is written when the rows are dropped keeps none of them", async () => {
  const { decoder, work } = await fillDuring(({ kernels }) => kernels.stream(NEVER));
  await expect(work).rejects.toMatchObject({ code: "cancelled" });
  decoder.free();
});
