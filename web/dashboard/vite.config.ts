import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, defineConfig, type Plugin, type Rolldown } from "vite";
import { BUILD_TARGET } from "../build/target.js";

const COMPRESSED = new Set([".html", ".js", ".css", ".svg", ".wasm"]);

/** Writes `.br` and `.gz` files beside each asset, because the server does not compress assets. */
function precompress(): Plugin {
  return {
    name: "colonnade-precompress",
    apply: "build",
    closeBundle() {
      const dist = fileURLToPath(new URL("./dist", import.meta.url));
      for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !COMPRESSED.has(extname(entry.name))) continue;
        const path = join(entry.parentPath, entry.name);
        const bytes = readFileSync(path);
        const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

/** Builds `src/old-browser.ts` as a classic script in old syntax, which the page runs before its modules. */
function oldBrowser(): Plugin {
  const fileName = "old-browser.js";
  return {
    name: "colonnade-old-browser",
    apply: "build",
    async generateBundle() {
      const input = fileURLToPath(new URL("./src/old-browser.ts", import.meta.url));
      const built = await build({
        configFile: false,
        logLevel: "warn",
        build: {
          target: "es2015",
          write: false,
          rolldownOptions: { input, output: { format: "iife" } },
        },
      });
      const [{ code: source }] = (built as Rolldown.RolldownOutput).output;
      this.emitFile({ type: "asset", fileName, source });
    },
    transformIndexHtml: (html) =>
      html.replace('<script type="module"', `<script defer src="/${fileName}"></script>\n    $&`),
  };
}

export default defineConfig({
  plugins: [oldBrowser(), precompress()],
  worker: { format: "es" },
  build: {
    target: BUILD_TARGET,
    // The content security policy forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/v1": "http://127.0.0.1:7878" } },
});
