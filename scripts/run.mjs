// Runs commands and reports progress.
//
// All reports go to standard error, because programs read the server's standard output.

import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** An error that the user has to resolve; printed without a stack trace. */
export class Obstacle extends Error {}

/** Prints a line of progress. */
export function say(text) {
  process.stderr.write(process.stderr.isTTY ? `\x1b[1m• ${text}\x1b[0m\n` : `• ${text}\n`);
}

/** What cannot be done on this machine, with the reasons. */
export const leftOut = [];

/** Prints that `what` is skipped, and why. */
export function leaveOut(what, reason) {
  const line = `${reason}: ${what}`;
  if (!leftOut.includes(line)) leftOut.push(line);
  say(line);
}

/** Whether `command` runs and exits with 0. */
export function has(command, args = ["--version"]) {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

/** The output of `command`; undefined if it fails. */
export function read(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Runs `command` in the checkout with its output on standard error; rejects if it fails. */
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

/** The steps so far, in the order of their starts: name, depth among the steps around it, seconds. */
const steps = [];
let depth = 0;

/** Runs `work` as a step; prints its name before and its time after it. Resolves with its seconds. */
export async function step(name, work) {
  const start = Date.now();
  const entry = { name, depth, seconds: Number.NaN };
  steps.push(entry);
  say(name);
  depth += 1;
  try {
    await work();
  } finally {
    depth -= 1;
    entry.seconds = (Date.now() - start) / 1000;
    process.stderr.write(`  ${name}: ${entry.seconds.toFixed(1)} s\n`);
  }
  return entry.seconds;
}

/** Prints a table of the steps that took a second or more, and the time of all steps together. */
export function sayTimes() {
  const total = steps
    .filter(({ depth }) => depth === 0)
    .reduce((sum, { seconds }) => sum + seconds, 0);
  const rows = [
    ...steps.filter(({ seconds }) => seconds >= 1),
    { name: "all", depth: 0, seconds: total },
  ];
  say("seconds");
  for (const { name, depth, seconds } of rows) {
    process.stderr.write(`${seconds.toFixed(0).padStart(7)}  ${"  ".repeat(depth)}${name}\n`);
  }
}

/** Runs a script's `main`; an Obstacle ends it with one line and exit code 1. */
export async function script(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Obstacle)) throw error;
    process.stderr.write(`\n✗ ${error.message}\n`);
    process.exitCode = 1;
  }
}
