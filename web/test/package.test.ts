import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { elementManifest } from "../build/manifest.js";
import { editorData } from "../build/vscode.js";
import manifest from "../package.json" with { type: "json" };
import { ReplayServer } from "./replay.js";

/** Size limit of the element, its worker and the grid together, in bytes of gzip. */
const MAX_GZIP_BYTES = 61 * 1024;

/** Size limit of the single-file bundle, uncompressed. */
const MAX_INLINE_BYTES = 1.2 * 1024 * 1024;

/** Size limit of the wasm module, in bytes of brotli. */
const MAX_WASM_BROTLI_BYTES = 350_000;

/** Size limit of the reader's wasm module, in bytes of gzip; brotli takes two thirds of them. */
const MAX_READER_GZIP_BYTES = 950_000;

const dist = (name: string) => fileURLToPath(new URL(`../dist/${name}`, import.meta.url));

test("there are no dependencies at run time", () => {
  expect(manifest).not.toHaveProperty("dependencies");
});

test("exports name types first", () => {
  for (const target of Object.values(manifest.exports)) {
    if (typeof target === "object") expect(Object.keys(target)[0]).toBe("types");
  }
});

// The other tests check the build, if there is one.
const isBuilt = existsSync(dist("worker.js"));

test.runIf(isBuilt)("every export exists", () => {
  for (const target of Object.values(manifest.exports)) {
    const paths = typeof target === "string" ? [target] : Object.values(target);
    for (const path of paths) {
      expect(existsSync(fileURLToPath(new URL(`../${path}`, import.meta.url))), path).toBe(true);
    }
  }
});

test.runIf(isBuilt)("the element, its worker and the grid are small", () => {
  const files = ["define.js", "viewer.js", "open.js", "worker.js"];
  const sizes = files.map((name) => gzipSync(readFileSync(dist(name)), { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.info(
    `gzip: ${files.map((name, index) => `${name} ${sizes[index]}`).join(", ")}; ${total}`,
  );
  expect(total).toBeLessThanOrEqual(MAX_GZIP_BYTES);
});

test.runIf(isBuilt)("the only other files are the tools that are loaded late", () => {
  const scripts = readdirSync(dist("")).filter((name) => name.endsWith(".js"));
  expect(scripts.sort()).toEqual([
    "arrow.js",
    "cell-menu.js",
    "column-panels.js",
    "column-summaries.js",
    "computation-record.js",
    "copy-command.js",
    "copy.js",
    "define.js",
    "file-table.js",
    "filter-bar.js",
    "find-bar.js",
    "formats.js",
    "index.js",
    "inline.js",
    "inspector.js",
    "notices.js",
    "open.js",
    "panel-styles.js",
    "predicate-words.js",
    "reader.js",
    "rows-file.js",
    "selected-values.js",
    "serve-here.js",
    "serve-ports.js",
    "thumb-tip.js",
    "too-old.js",
    "totals.js",
    "viewer.js",
    "worker.js",
  ]);
});

test.runIf(isBuilt)("the single-file bundle is small", () => {
  const size = readFileSync(dist("inline.js")).length;
  console.info(`inline.js ${size}`);
  expect(size).toBeLessThanOrEqual(MAX_INLINE_BYTES);
});

test.runIf(isBuilt)("the wasm module is small", { timeout: 60_000 }, () => {
  const size = brotliCompressSync(readFileSync(dist("colonnade.wasm"))).length;
  console.info(`brotli: colonnade.wasm ${size}`);
  expect(size).toBeLessThanOrEqual(MAX_WASM_BROTLI_BYTES);
});

test.runIf(isBuilt)("the reader of Parquet files is small", () => {
  const size = gzipSync(readFileSync(dist("colonnade-reader.wasm")), { level: 9 }).length;
  console.info(`gzip: colonnade-reader.wasm ${size}`);
  expect(size).toBeLessThanOrEqual(MAX_READER_GZIP_BYTES);
});

test.runIf(isBuilt)(
  "bundlers see the workers and the modules, and no data: address is left",
  () => {
    const open = readFileSync(dist("open.js"), "utf8");
    const table = readFileSync(dist("file-table.js"), "utf8");
    const reader = readFileSync(dist("reader.js"), "utf8");
    expect(table).toContain('new Worker(new URL("./reader.js",import.meta.url),{');
    expect(table).toContain('import("./reader.js")');
    expect(reader).toContain('new URL("./colonnade-reader.wasm",import.meta.url)');
    expect(reader).not.toMatch(/^import /m);
    const worker = readFileSync(dist("worker.js"), "utf8");
    expect(open).toContain('new Worker(new URL("./worker.js",import.meta.url),{');
    expect(open).toContain('import("./worker.js")');
    expect(worker).toContain('new URL("./colonnade.wasm",import.meta.url)');
    expect(worker).not.toContain("data:application/wasm");
    expect(worker).not.toMatch(/^import /m);
    // The single-file bundle is the only one with data inside, and it needs no other file.
    expect(readFileSync(dist("inline.js"), "utf8")).not.toMatch(/^import /m);
  },
);

test.runIf(isBuilt)("every module can be imported where there is no DOM", async () => {
  const { ColonnadeError, open } = await import(/* @vite-ignore */ dist("index.js"));
  await expect(open("relative/address")).rejects.toBeInstanceOf(ColonnadeError);
  for (const name of ["define.js", "inline.js"]) {
    const { ColonnadeViewer } = await import(/* @vite-ignore */ dist(name));
    expect(ColonnadeViewer.properties, name).toHaveProperty("src");
  }
});

test.runIf(isBuilt)("the types need no other package", () => {
  const outside = /(?:from|import\() ?"(?!\.)([^"]+)"/g;
  const entries = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "object" ? [target.types] : [],
  );
  const seen = new Set<string>();
  const named = new Set<string | undefined>();
  for (const queue = entries.map((path) => new URL(`../${path}`, import.meta.url)); queue[0]; ) {
    const file = queue.shift() as URL;
    if (seen.has(file.href)) continue;
    seen.add(file.href);
    const text = readFileSync(file, "utf8");
    for (const [, name] of text.matchAll(outside)) named.add(name);
    for (const [, path = ""] of text.matchAll(/(?:from|import\() ?"(\.[^"]+)\.js"/g)) {
      queue.push(new URL(`${path}.d.ts`, file));
    }
  }
  expect(seen.size).toBeGreaterThan(entries.length);
  expect([...named]).toEqual(["apache-arrow"]);
});

test("the manifest names what the element has", () => {
  // Throws if the comment of the class differs from the code.
  const [element] = elementManifest().modules.flatMap(({ declarations }) => declarations);
  const names = (list: { name: string }[] = []) => list.map(({ name }) => name);
  expect(names(element?.attributes)).toEqual(expect.arrayContaining(["src", "worker-src"]));
  const members = ["headers", "ready", "retry", "source", "state", "table"];
  expect(names(element?.members)).toEqual(expect.arrayContaining(members));
  expect(names(element?.members)).not.toContain("render");
  expect(names(element?.events)).toContain("colonnade-schema");
  expect(names(element?.cssParts)).toEqual(expect.arrayContaining(["cell", "header", "toolbar"]));
  expect(element?.cssProperties).toContainEqual({
    name: "--colonnade-text",
    default: "light-dark(#1b1d22, #e6e7ea)",
  });
});

test.runIf(isBuilt)("the built manifest describes the element as in its source", () => {
  const built = (name: string) => JSON.parse(readFileSync(dist(name), "utf8"));
  const described = elementManifest();
  expect(built("custom-elements.json")).toEqual(described);
  expect(built("vscode.html-custom-data.json")).toEqual(editorData(described));
});

/** Runs a module in a separate Node process, in the folder of the package; rejects if it fails. */
async function runInNode(module: string): Promise<string> {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const options = ["--input-type=module", "--eval", module];
  const { stdout } = await promisify(execFile)(process.execPath, options, { cwd });
  return stdout;
}

test.runIf(isBuilt)(
  "the built package reads bytes, files and addresses in Node, and lets it end",
  async () => {
    const server = new ReplayServer();
    await server.listen();
    try {
      const stdout = await runInNode(`
      import { open } from "colonnade";
      import { openAsBlob, readdirSync, readFileSync } from "node:fs";
      const file = "../fixtures/wire/delta.arrow";
      for (const source of [
        readFileSync(file),
        await openAsBlob(file),
        new Response(readFileSync(file)),
        "${server.origin}/v1/tables/numbered/rows",
      ]) {
        const table = await open(source);
        await table.done;
        console.log(table.state, table.numRows, (await table.text({ start: 4, end: 5 }, [0]))[0][0]);
      }`);
      expect(stdout.trim().split("\n")).toEqual([
        ...Array(3).fill("complete 11 d\u00e4"),
        "complete 300 4",
      ]);
    } finally {
      await server.close();
    }
  },
);
