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

// The worker is a build of its own: it must be one file that hosts can place where they like.
export default defineConfig({
  plugins: [placeWasm()],
  build: {
    target: "es2022",
    lib: {
      entry: { index: "src/index.ts", define: "src/define.ts" },
      formats: ["es"],
    },
    rolldownOptions: {
      output: { chunkFileNames: "[name].js" },
    },
  },
});
