import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

/** What the element, its worker and the grid may cost a page, in bytes of gzip. */
const MAX_GZIP_BYTES = 45 * 1024;

/** What the wasm module may cost, in bytes of brotli. */
const MAX_WASM_BROTLI_BYTES = 350 * 1024;

const dist = (name: string) => fileURLToPath(new URL(`../dist/${name}`, import.meta.url));

test("there are no dependencies at run time", () => {
  expect(manifest).not.toHaveProperty("dependencies");
});

test("exports name types first", () => {
  for (const target of Object.values(manifest.exports)) {
    if (typeof target === "object") expect(Object.keys(target)[0]).toBe("types");
  }
});

// The rest looks at what was built, where it was.
const isBuilt = existsSync(dist("worker.js"));

test.runIf(isBuilt)("every export is there", () => {
  for (const target of Object.values(manifest.exports)) {
    const paths = typeof target === "string" ? [target] : Object.values(target);
    for (const path of paths) {
      expect(existsSync(fileURLToPath(new URL(`../${path}`, import.meta.url))), path).toBe(true);
    }
  }
});

test.runIf(isBuilt)("the element, its worker and the grid are small", () => {
  const files = ["define.js", "open.js", "worker.js"];
  const sizes = files.map((name) => gzipSync(readFileSync(dist(name)), { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.info(
    `gzip: ${files.map((name, index) => `${name} ${sizes[index]}`).join(", ")}; ${total}`,
  );
  expect(total).toBeLessThanOrEqual(MAX_GZIP_BYTES);
});

test.runIf(isBuilt)("the wasm module is small", () => {
  const size = brotliCompressSync(readFileSync(dist("colonnade.wasm"))).length;
  console.info(`brotli: colonnade.wasm ${size}`);
  expect(size).toBeLessThanOrEqual(MAX_WASM_BROTLI_BYTES);
});

test.runIf(isBuilt)("bundlers see the worker and the module, and no data: address is left", () => {
  const open = readFileSync(dist("open.js"), "utf8");
  const worker = readFileSync(dist("worker.js"), "utf8");
  expect(open).toContain('new Worker(new URL("./worker.js", import.meta.url), { type: "module" })');
  expect(worker).toContain('new URL("./colonnade.wasm", import.meta.url)');
  expect(worker).not.toContain("data:application/wasm");
  expect(worker).not.toMatch(/^import /m);
});

test.runIf(isBuilt)("the package can be imported where there is no DOM", async () => {
  const { ColonnadeError, open } = await import(/* @vite-ignore */ dist("index.js"));
  await expect(open("relative/address")).rejects.toBeInstanceOf(ColonnadeError);
});
