import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { open } from "../src/api/open.js";

const wasmSrc = new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url);
const bytes = readFileSync(new URL("../../fixtures/numbered.arrows", import.meta.url));

test("a table that has ended no longer listens to the signal that it was opened with", async () => {
  const { signal } = new AbortController();
  const complete = await open(new Uint8Array(bytes), { wasmSrc, signal });
  await complete.done;
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const broken = await open(new Uint8Array(bytes.subarray(0, -20)), { wasmSrc, signal });
  await broken.done.catch(() => undefined);
  expect(broken.state).toBe("failed");
  expect(getEventListeners(signal, "abort")).toEqual([]);
  complete.close();
  broken.close();
});
