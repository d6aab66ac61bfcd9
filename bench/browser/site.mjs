// Serves the benchmark's page, the built package, the peers' files and the streams to the browser. It is a
// separate process, so that work of the driver does not delay responses.

import { fork } from "node:child_process";
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { root } from "../../scripts/run.mjs";
import { makeStream } from "./datasets.mjs";

const TYPES = {
  html: "text/html",
  js: "text/javascript",
  mjs: "text/javascript",
  wasm: "application/wasm",
};
/** Both headers together isolate a page; see HTML, "cross-origin isolation". */
const EMBEDDER = { "cross-origin-embedder-policy": "require-corp" };
const PAGES = { "/": {}, "/isolated": { "cross-origin-opener-policy": "same-origin" } };
const WRITE_BYTES = 1024 * 1024;

/**
 * Starts the site on a free port of loopback: `/` is the page, `/isolated` the same page cross-origin
 * isolated, `/page/` its scripts, `/colonnade/` the package as shipped, `/modules/` the peers' packages,
 * `/streams/` the streams of `datasets.mjs` by name, `/files/` the `files` by name.
 *
 * @param {{ isQuick: boolean, files: Record<string, string> }} options
 */
export async function openSite(options) {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(options)]);
  const origin = await new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`the site ended with exit ${code}`)));
  });
  return {
    origin,
    /** The shape of a stream: `{ numBytes, numRows, numBatches, numColumns }`. */
    shapeOf: async (name) => (await fetch(`${origin}/shapes/${name}`)).json(),
    /** The gzipped size in bytes of all code served since the last call. */
    codeBytes: async () => Number(await (await fetch(`${origin}/code-bytes`)).text()),
    close: () => child.kill(),
  };
}

async function serve({ isQuick, files }) {
  const scripts = await bundle();
  /** The last requested stream; only one is kept, because streams can be large. */
  let last = { name: "", stream: undefined };
  const streamOf = (name) => {
    if (last.name !== name) last = { name, stream: makeStream(name, isQuick) };
    return last.stream;
  };
  const gzipBytes = new Map();
  const sizeOf = (path, file) => {
    if (!gzipBytes.has(path)) gzipBytes.set(path, gzipSync(file).length);
    return gzipBytes.get(path);
  };
  let codeBytes = 0;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const path = normalize(decodeURIComponent(pathname));
    const [, folder, name, ...rest] = path.split("/");
    if (folder === "streams") {
      const { numBytes, pieces } = streamOf(name);
      return send(request, response, numBytes, () => Readable.from(pieces()));
    }
    if (folder === "shapes") {
      const { pieces, ...shape } = streamOf(name);
      return response.end(JSON.stringify(shape));
    }
    if (folder === "files" && name in files) {
      const open = () => createReadStream(files[name], { highWaterMark: WRITE_BYTES });
      return send(request, response, statSync(files[name]).size, open);
    }
    if (folder === "code-bytes") {
      response.end(String(codeBytes));
      codeBytes = 0;
      return undefined;
    }
    const file = readFile(scripts, folder, [name, ...rest].join("/"));
    const type = path in PAGES ? "text/html" : TYPES[path.split(".").at(-1)];
    if (file === undefined || type === undefined) return response.writeHead(404).end();
    codeBytes += sizeOf(path, file);
    return response.writeHead(200, { "content-type": type, ...PAGES[path], ...EMBEDDER }).end(file);
  });
  server.listen(0, "127.0.0.1", () => process.send(`http://127.0.0.1:${server.address().port}`));
}

function readFile(scripts, folder, name) {
  const places = {
    "": "bench/page/index.html",
    isolated: "bench/page/index.html",
    colonnade: `web/dist/${name}`,
    modules: `node_modules/${name}`,
  };
  if (folder === "page") return scripts.get(name);
  const path = folder in places ? join(root, places[folder]) : undefined;
  return path !== undefined && existsSync(path) ? readFileSync(path) : undefined;
}

function send(request, response, numBytes, open) {
  response.writeHead(200, {
    "content-type": "application/vnd.apache.arrow.stream",
    "content-length": numBytes,
    "cache-control": "no-store",
  });
  if (request.method === "HEAD") return response.end();
  // A reader may close the connection early.
  pipeline(open(), response).catch(() => undefined);
}

/** Bundles the page's scripts with the peers; returns their code by file name. */
async function bundle() {
  const names = ["page", "worker", "table-worker"];
  const entry = Object.fromEntries(
    names.map((name) => [name, join(root, `bench/page/${name}.ts`)]),
  );
  const result = await build({
    configFile: false,
    logLevel: "error",
    root: join(root, "bench"),
    build: {
      target: "es2022",
      write: false,
      lib: { entry, formats: ["es"] },
      rolldownOptions: { output: { chunkFileNames: "[name].js" } },
    },
  });
  const { output } = Array.isArray(result) ? result[0] : result;
  return new Map(output.map(({ fileName, code }) => [fileName, code]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Ends with the driver, even if the driver crashes.
  process.on("disconnect", () => process.exit());
  await serve(JSON.parse(process.argv[2]));
}
