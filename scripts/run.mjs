// Running commands and telling what is being done.
//
// Everything is told on standard error: the server's standard output is one line that programs read.

import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** Something that the person at the keyboard has to do; told without a stack trace. */
export class Obstacle extends Error {}

/** Says what comes next. */
export function say(text) {
  process.stderr.write(process.stderr.isTTY ? `\x1b[1m• ${text}\x1b[0m\n` : `• ${text}\n`);
}

/** Whether `command` can be started. */
export function has(command, args = ["--version"]) {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

/** What `command` prints, or undefined where it fails. */
export function read(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Runs `command` in the checkout with its output on standard error; rejects where it fails. */
export function run(command, args, { env = {}, cwd = root } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", process.stderr, process.stderr],
    });
    child.on("error", (error) =>
      reject(new Obstacle(`${command} cannot be run: ${error.message}`)),
    );
    child.on("exit", (code, signal) => {
      if (code === 0) resolve();
      else
        reject(new Obstacle(`${command} ${args.join(" ")} ended with ${signal ?? `exit ${code}`}`));
    });
  });
}

/** Runs `work` as a step that says its name first and its time after it. */
export async function step(name, work) {
  const start = Date.now();
  say(name);
  await work();
  process.stderr.write(`  ${name}: ${((Date.now() - start) / 1000).toFixed(1)} s\n`);
}

/** Runs a script's `main`; ends with exit code 1 and one line where something is in the way. */
export async function script(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Obstacle)) throw error;
    process.stderr.write(`\n✗ ${error.message}\n`);
    process.exitCode = 1;
  }
}
