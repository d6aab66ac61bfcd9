import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

await build({
  entryPoints: ["main.js"],
  outdir: "dist",
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
});

// esbuild does not rewrite the URLs of the worker and the module, which are beside the script.
for (const [name, file] of [
  ["colonnade/worker", "worker.js"],
  ["colonnade/wasm", "colonnade.wasm"],
]) {
  copyFileSync(fileURLToPath(import.meta.resolve(name)), `dist/${file}`);
}
