// Builds the targets in order: the wasm modules, the web package and the dashboard, the server (which
// embeds the dashboard). `node scripts/build.mjs [wasm] [web] [server]`; without arguments all.

import { copyFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root, run, script, step } from "./run.mjs";
import { setUpNode, setUpRust } from "./setup.mjs";

const wasmFolder = "target/wasm32-unknown-unknown/wasm";

/** The newest modification time of what is built below `paths`, in ms; 0 if there are no files. */
function newest(paths, skip = ["node_modules", "dist", "test", "README.md"]) {
  let time = 0;
  for (const path of paths) {
    if (!existsSync(path)) continue;
    const stat = statSync(path);
    if (!stat.isDirectory()) {
      time = Math.max(time, stat.mtimeMs);
      continue;
    }
    const inside = readdirSync(path).filter((name) => !skip.includes(name));
    time = Math.max(
      time,
      newest(
        inside.map((name) => join(path, name)),
        skip,
      ),
    );
  }
  return time;
}

/** Whether `output` is at least as new as everything below `inputs`, all relative to the checkout. */
function upToDate(output, inputs) {
  const path = join(root, output);
  return (
    existsSync(path) && statSync(path).mtimeMs >= newest(inputs.map((name) => join(root, name)))
  );
}

async function buildWasm() {
  const target = ["--profile", "wasm", "--target", "wasm32-unknown-unknown"];
  const packages = ["-p", "colonnade-wasm", "-p", "colonnade-reader-wasm"];
  await run("cargo", ["build", "--locked", ...target, ...packages]);
  const module = `${wasmFolder}/colonnade_wasm.wasm`;
  if (!upToDate("web/pkg/colonnade_wasm_bg.wasm", [module, "xtask/src"])) {
    const xtask = ["run", "--locked", "--release", "-p", "xtask", "--"];
    await run("cargo", [...xtask, "bindgen", module, "web/pkg"]);
  }
  const reader = `${wasmFolder}/colonnade_reader_wasm.wasm`;
  if (upToDate("web/pkg/colonnade_reader.wasm", [reader])) return;
  copyFileSync(join(root, reader), join(root, "web/pkg/colonnade_reader.wasm"));
}

async function buildWeb() {
  const sources = ["web", "package-lock.json"];
  if (!upToDate("web/dist/index.js", sources.concat("web/pkg"))) {
    await run("npm", ["run", "build", "-w", "colonnade"]);
  }
  if (!upToDate("web/dashboard/dist/index.html", sources.concat("web/dist"))) {
    await run("npm", ["run", "build", "-w", "@colonnade/dashboard"]);
  }
}

async function buildServer() {
  await run("cargo", ["build", "--locked", "--release", "-p", "colonnade-server"]);
}

const isFirst = !existsSync(join(root, "target", "release", "deps"));

const targets = {
  wasm: ["building the wasm modules", buildWasm],
  web: ["building the web package and the dashboard", buildWeb],
  server: [
    `building the server${isFirst ? " (the first time takes 10 to 20 minutes)" : ""}`,
    buildServer,
  ],
};

/** Sets up the tools and builds the targets `names`; by default all. */
export async function build(names = Object.keys(targets)) {
  await setUpRust();
  await setUpNode();
  for (const name of Object.keys(targets).filter((name) => names.includes(name))) {
    const [title, work] = targets[name];
    await step(title, work);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const names = process.argv.slice(2);
  await script(() => build(names.length > 0 ? names : undefined));
}
