// Describes the machine, and measures how much other programs use its processors.

import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { say } from "../../scripts/run.mjs";
import { percent } from "./format.mjs";
import { ownProcesses } from "./processes.mjs";

/** Above this share of the processors for other programs, results are not compared. */
const MAX_OTHERS_SHARE = 0.1;

/** Whether other programs used too much of the processors to compare a result. */
export function isNoisy({ othersShare = 0 }) {
  return othersShare > MAX_OTHERS_SHARE;
}

/** Calls `measure`; if other programs disturbed it, returns the quieter one of two results. */
export async function quietly(name, measure) {
  const first = await measure();
  if (!isNoisy(first)) return first;
  say(
    `${name}: other programs used ${percent(first.othersShare)} of the processors; measuring again`,
  );
  const second = await measure();
  return second.othersShare < first.othersShare ? second : first;
}

/** The verdict on a target for the report; `results` are the ones it compares. */
export function verdict(holds, ...results) {
  if (results.some(isNoisy)) return "not compared: other programs were running";
  return holds ? "met" : "**missed**";
}

/** The machine and versions for the report. */
export function describeMachine(versions) {
  const [cpu] = cpus();
  return {
    processors: `${cpus().length} × ${cpu?.model.trim() ?? "unknown"}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: release(),
    node: process.versions.node,
    ...versions,
  };
}

/** Load average of the last minute. */
export function load() {
  return Number(loadavg()[0]?.toFixed(2));
}

/** Measures the share of all processors that other programs use, from 0 to 1. */
export class OtherLoad {
  #last = readTicks();

  /** The share since the last call; undefined except on Linux. */
  share() {
    const [before, now] = [this.#last, readTicks()];
    this.#last = now;
    if (before === undefined || now === undefined) return undefined;
    const total = now.total - before.total;
    const others = now.busy - before.busy - (now.own - before.own);
    return total === 0 ? 0 : Math.max(0, others / total);
  }
}

/** Processor ticks since boot: in total, busy, and used by our processes; undefined except on Linux. */
function readTicks() {
  if (process.platform !== "linux") return undefined;
  const [user, nice, system, idle, wait, ...rest] = readFileSync("/proc/stat", "utf8")
    .split("\n", 1)[0]
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = user + nice + system + rest.reduce((sum, ticks) => sum + ticks, 0);
  return { total: busy + idle + wait, busy, own: ownTicks() };
}

/** The ticks of this process and its descendants, including ended ones. */
function ownTicks() {
  let ticks = 0;
  for (const fields of ownProcesses().values()) {
    for (const field of fields.slice(11, 15)) ticks += Number(field);
  }
  return ticks;
}
