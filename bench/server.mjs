// Starts the server to measure, and exports its test data.

import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { cacheDir } from "../scripts/cache.mjs";
import { root, say } from "../scripts/run.mjs";
import { serverBinary } from "../scripts/start.mjs";

/** The program of the crate in `src/`. */
export const benchBinary = join(root, "target/release/colonnade-bench");

const MAX_CLOSE_MS = 20_000;

/** Starts `colonnade serve` with `args` on a free port. */
export function startServer(args = [], env = {}) {
  return startProgram(serverBinary, ["serve", "--listen", "127.0.0.1:0", ...args], env);
}

/** Starts a program that serves HTTP, and says where in its first line. */
export async function startProgram(program, args, env = {}) {
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...env },
  });
  const origin = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) =>
      resolve(line.replace("listening on ", "")),
    );
    child.once("exit", (code) => reject(new Error(`the server ended with exit ${code}`)));
  });
  const close = () =>
    new Promise((resolve) => {
      child.once("exit", resolve);
      child.kill();
      // A program that does not end would keep the benchmark from ending.
      setTimeout(() => child.kill("SIGKILL"), MAX_CLOSE_MS).unref();
    });
  return { origin, pid: child.pid, close };
}

/** The paths of lineitem as an Arrow stream, an Arrow file and Parquet; the server writes them once. */
export async function provideLineitem() {
  const folder = join(cacheDir(), "bench");
  mkdirSync(folder, { recursive: true });
  const files = Object.fromEntries(
    ["arrows", "arrow", "parquet"].map((kind) => [kind, join(folder, `lineitem.${kind}`)]),
  );
  if (Object.values(files).every((path) => existsSync(path))) return files;
  say("writing lineitem as an Arrow stream, an Arrow file and Parquet");
  const { origin, close } = await startServer();
  const rows = `${origin}/v1/tables/lineitem/rows`;
  await save(rows, files.arrows);
  const id = crypto.randomUUID();
  const kept = await fetch(`${rows}?id=${id}&linger_s=600`);
  await kept.body?.cancel();
  for (const format of ["arrow", "parquet"]) {
    await save(`${origin}/v1/query/${id}/export?format=${format}`, files[format]);
  }
  await close();
  return files;
}

async function save(url, path) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  await pipeline(Readable.fromWeb(response.body), createWriteStream(`${path}.part`));
  renameSync(`${path}.part`, path);
}
