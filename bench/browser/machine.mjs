// What the numbers were taken on, and who else used the processors meanwhile.

import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { say } from "../../scripts/run.mjs";
import { percent } from "./figures.mjs";
import { ownProcesses } from "./processes.mjs";

/** Above this share of the processors, others decide what is measured. */
const MAX_OTHERS_SHARE = 0.1;

/** Whether others took too much of the processors to compare what was measured. */
export function isNoisy({ othersShare = 0 }) {
  return othersShare > MAX_OTHERS_SHARE;
}

/** What `measure` measures; where others took too much meanwhile, the quieter one of two. */
export async function quietly(name, measure) {
  const first = await measure();
  if (!isNoisy(first)) return first;
  say(`${name}: other programs took ${percent(first.othersShare)} of the processors; once more`);
  const second = await measure();
  return second.othersShare < first.othersShare ? second : first;
}

/** Whether a target holds, as the report tells it, of what was measured in `parts`. */
export function verdict(holds, ...parts) {
  if (parts.some(isNoisy)) return "others took too much";
  return holds ? "met" : "**missed**";
}

/** Machine, versions and flags, as told beside the numbers. */
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

/** The share of all processors, of 1, that programs other than this one's took between two looks. */
export class Others {
  #last = look();

  /** Since the last call; undefined where the system does not tell. */
  share() {
    const [before, now] = [this.#last, look()];
    this.#last = now;
    if (before === undefined || now === undefined) return undefined;
    const total = now.total - before.total;
    const others = now.busy - before.busy - (now.own - before.own);
    return total === 0 ? 0 : Math.max(0, others / total);
  }
}

/** Ticks since the start of the machine: of all processors, of them busy, and busy for us. */
function look() {
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

/** Ticks of this process, its descendants, and those of them that have ended. */
function ownTicks() {
  let ticks = 0;
  for (const fields of ownProcesses().values()) {
    for (const field of fields.slice(11, 15)) ticks += Number(field);
  }
  return ticks;
}
