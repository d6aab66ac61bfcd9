// The native peers: a Python process that runs one task after another, and its packages.

import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cacheDir } from "../scripts/cache.mjs";
import { has, root, run, say } from "../scripts/run.mjs";

const PACKAGES = [
  "pyspark[connect]==4.3.0",
  "pyarrow==26.0.1",
  "pandas==2.3.3",
  "numpy==2.4.6",
  "grpcio==1.85.1",
  "grpcio-status==1.85.1",
  "googleapis-common-protos==1.76.0",
  "zstandard==0.25.0",
  "tpchgen-cli==4.0.0",
  "datafusion==55.0.0",
  "duckdb==2.0.0",
];
/** The time limit for a task; some never finish. */
const MAX_MS = 240_000;
/** A task is ended when less memory is free, because a machine without swap would stall. */
const MIN_FREE_BYTES = 1.5 * 2 ** 30;
const POLL_MS = 200;

/** Installs the peers' packages; returns the environment's `python3`, or undefined without Java or venv. */
export async function setUpPeers() {
  const folder = join(cacheDir(), "bench", "python");
  const python = join(folder, "bin", "python3");
  const stamp = join(folder, `${PACKAGES.join("_")}.installed`);
  if (existsSync(stamp)) return python;
  if (!has("python3", ["-m", "venv", "--help"]) || !has("java", ["-version"])) {
    say("no python3 with venv, or no Java: the native peers are skipped");
    return undefined;
  }
  say(`installing ${PACKAGES.join(", ")} for the native peers`);
  await run("python3", ["-m", "venv", folder]);
  await run(python, ["-m", "pip", "install", "-q", ...PACKAGES]);
  writeFileSync(stamp, "");
  return python;
}

/** The peers' process with its children; started on demand and ended between benchmarks. */
export class Peers {
  #python;
  #child;
  #responses;

  constructor(python) {
    this.#python = python;
  }

  /**
   * Runs a task of `native/peers.py`: returns its time `{ ms }`, or an `{ error }`. A task that exceeds
   * the time or memory limit ends the process.
   */
  async run(task) {
    if (this.#child === undefined) await this.#start();
    let timer;
    const refused = new Promise((resolve) => {
      const startMs = performance.now();
      timer = setInterval(() => {
        if (performance.now() - startMs > MAX_MS) resolve(`not finished within ${MAX_MS / 1000} s`);
        else if (freemem() < MIN_FREE_BYTES) resolve("stopped: the machine's memory was full");
      }, POLL_MS);
    });
    this.#child.stdin.write(`${JSON.stringify(task)}\n`);
    const answer = await Promise.race([this.#next(), refused.then((error) => ({ error }))]);
    clearInterval(timer);
    if (answer.ms === undefined) await this.end();
    return answer;
  }

  async #start() {
    const program = join(root, "bench/native/peers.py");
    this.#child = spawn(this.#python, [program], {
      stdio: ["pipe", "pipe", "ignore"],
      // In its own process group, so that Spark is ended with it.
      detached: true,
    });
    this.#child.stdin.on("error", () => {
      // The process has ended; the next read reports that.
    });
    this.#responses = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    const { error } = await this.#next();
    if (error) throw new Error(error);
  }

  async #next() {
    const { value, done } = await this.#responses.next();
    return done ? { error: "the process ended" } : JSON.parse(value);
  }

  /** Ends the process and its children. */
  async end() {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid, "SIGKILL");
    await ended;
  }
}
