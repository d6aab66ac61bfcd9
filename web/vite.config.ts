import { copyFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** Places the module beside the worker, where the worker looks for it. */
function placeWasm(): Plugin {
  return {
    name: "colonnade-place-wasm",
    closeBundle() {
      const from = new URL("./pkg/colonnade_wasm_bg.wasm", import.meta.url);
      copyFileSync(from, new URL("./dist/colonnade.wasm", import.meta.url));
    },
  };
}

/**
 * This build must leave `new URL("./worker.js", import.meta.url)` alone, which a comment in the
 * source says; the bundler of whoever uses the package must not, so the comment goes.
 */
function dropIgnoreComments(): Plugin {
  return {
    name: "colonnade-drop-ignore-comments",
    renderChunk: {
      order: "post",
      handler: (code) => code.replace(/\/\* @vite-ignore \*\/\s*/g, ""),
    },
  };
}

// The worker (`--mode worker`) is a build of its own: it must be one file that hosts can place
// where they like.
export default defineConfig(({ mode }) => {
  const isWorker = mode === "worker";
  const entry: Record<string, string> = isWorker
    ? { worker: "src/worker.ts" }
    : { index: "src/index.ts", define: "src/define.ts" };
  return {
    plugins: [dropIgnoreComments(), ...(isWorker ? [] : [placeWasm()])],
    build: {
      target: "es2022",
      emptyOutDir: !isWorker,
      lib: { entry, formats: ["es"] },
      rolldownOptions: {
        external: ["apache-arrow", ...(isWorker ? [] : [/\/worker\.js$/])],
        output: { chunkFileNames: "[name].js" },
      },
    },
  };
});
