// `npm start [-- ARGS]`: sets up, builds and runs `colonnade serve ARGS`.

import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.mjs";
import { cacheDir } from "./cache.mjs";
import { Obstacle, root, say, script } from "./run.mjs";

/** Copies the flights of vega-datasets to the folder of the demo tables. */
export function provideFlights() {
  const to = join(cacheDir(), "flights.parquet");
  if (existsSync(to)) return;
  const from = join(root, "node_modules", "vega-datasets", "data", "flights-3m.parquet");
  if (!existsSync(from)) throw new Obstacle(`${from} is missing: run \`npm ci\``);
  mkdirSync(cacheDir(), { recursive: true });
  copyFileSync(from, `${to}.part`);
  renameSync(`${to}.part`, to);
}

/** The path of the server's binary. */
export const serverBinary = join(
  root,
  "target",
  "release",
  process.platform === "win32" ? "colonnade.exe" : "colonnade",
);

async function main() {
  await build();
  provideFlights();
  say("starting the server");
  const server = spawn(serverBinary, ["serve", ...process.argv.slice(2)], {
    stdio: "inherit",
    // In its own process group, so that it gets Ctrl+C only once, from here: a second signal ends streams
    // at once.
    detached: process.platform !== "win32",
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => server.kill(signal === "SIGHUP" ? "SIGTERM" : signal));
  }
  process.exitCode = await new Promise((resolve) => {
    server.on("exit", (code) => resolve(code ?? 1));
  });
}

if (process.argv[1]?.endsWith("start.mjs")) await script(main);
