// The native peers: a process of Python that is asked for one task after the other, and what it needs.

import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { has, root, run, say } from "../scripts/run.mjs";
import { cacheDir } from "../scripts/start.mjs";

const PACKAGES = [
  "pyspark[connect]==4.3.0",
  "pyarrow==26.0.1",
  "pandas==2.3.3",
  "numpy==2.4.6",
  "grpcio==1.85.1",
  "grpcio-status==1.85.1",
  "googleapis-common-protos==1.76.0",
  "zstandard==0.25.0",
];
/** The longest that a task may take; some never end. */
const MAX_MS = 240_000;
/** Below this, a machine without swap stands still. */
const MIN_FREE_BYTES = 1.5 * 2 ** 30;
const LOOK_MS = 200;

/** The packages that the peers need, in a folder of their own: `python3` of it, or undefined. */
export async function setUpPeers() {
  const folder = join(cacheDir(), "bench", "python");
  const python = join(folder, "bin", "python3");
  const stamp = join(folder, `${PACKAGES.join("_")}.installed`);
  if (existsSync(stamp)) return python;
  if (!has("python3", ["-m", "venv", "--help"]) || !has("java", ["-version"])) {
    say("no python3 with venv, or no Java: the native peers are left out");
    return undefined;
  }
  say(`installing ${PACKAGES.join(", ")} for the native peers`);
  await run("python3", ["-m", "venv", folder]);
  await run(python, ["-m", "pip", "install", "-q", ...PACKAGES]);
  writeFileSync(stamp, "");
  return python;
}

/** The peers' process with whatever it starts: there when it is asked for, and ended in between. */
export class Peers {
  #python;
  #child;
  #lines;

  constructor(python) {
    this.#python = python;
  }

  /**
   * What a task of `native/peers.py` took, `{ ms }`, or why it did not end, `{ error }`: also where it
   * took too long or all memory, which ends the process.
   */
  async ask(task) {
    if (this.#child === undefined) await this.#start();
    let timer;
    const refused = new Promise((resolve) => {
      const startMs = performance.now();
      timer = setInterval(() => {
        if (performance.now() - startMs > MAX_MS) resolve(`no end within ${MAX_MS / 1000} s`);
        else if (freemem() < MIN_FREE_BYTES) resolve("took all of the machine's memory");
      }, LOOK_MS);
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
      // A group of its own, so that Spark ends with it.
      detached: true,
    });
    this.#child.stdin.on("error", () => {
      // It has ended: the next line says so.
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    const { error } = await this.#next();
    if (error) throw new Error(error);
  }

  async #next() {
    const { value, done } = await this.#lines.next();
    return done ? { error: "the process ended" } : JSON.parse(value);
  }

  /** Gives back all that it holds. */
  async end() {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid, "SIGKILL");
    await ended;
  }
}
