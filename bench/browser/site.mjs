// What the browser is given: the bench's page, the built package, and the streams.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { build } from "vite";
import { root } from "../../scripts/run.mjs";

const TYPES = { html: "text/html", js: "text/javascript", wasm: "application/wasm" };
const WRITE_BYTES = 1024 * 1024;

/**
 * Serves on a free port of loopback: `/` the page, `/page/` its scripts, `/colonnade/` the package as
 * it is shipped, `/streams/` the streams that `streams` holds by name.
 *
 * @param {Map<string, Uint8Array>} streams
 */
export async function openSite(streams) {
  const scripts = await bundle();
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const [, folder, name] = path.split("/");
    if (folder === "streams" && streams.has(name)) return send(response, streams.get(name));
    const file =
      path === "/" ? readFileSync(join(root, "bench/page/index.html")) : readFile(folder, name);
    const type = TYPES[path === "/" ? "html" : (name?.split(".").at(-1) ?? "")];
    if (file === undefined || type === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": type }).end(file);
  });
  function readFile(folder, name) {
    if (folder === "page") return scripts.get(name);
    if (folder === "colonnade") return readFileSync(join(root, "web/dist", name));
    return undefined;
  }
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin, close };
}

function send(response, bytes) {
  response.writeHead(200, {
    "content-type": "application/vnd.apache.arrow.stream",
    "content-length": bytes.length,
    "cache-control": "no-store",
  });
  // A reader that leaves early is none of our business.
  pipeline(Readable.from(pieces(bytes)), response).catch(() => undefined);
}

/** Writes of a MiB, as fast as they are taken. */
function* pieces(bytes) {
  for (let start = 0; start < bytes.length; start += WRITE_BYTES) {
    yield bytes.subarray(start, start + WRITE_BYTES);
  }
}

/** The page's scripts by name, the peers inside. */
async function bundle() {
  const entry = {
    page: join(root, "bench/page/page.ts"),
    worker: join(root, "bench/page/worker.ts"),
  };
  const result = await build({
    configFile: false,
    logLevel: "error",
    root: join(root, "bench"),
    build: {
      target: "es2022",
      write: false,
      minify: false,
      lib: { entry, formats: ["es"] },
      rolldownOptions: { output: { chunkFileNames: "[name].js" } },
    },
  });
  const { output } = Array.isArray(result) ? result[0] : result;
  return new Map(output.map(({ fileName, code }) => [fileName, code]));
}
