// Ratios to the floor that must not fall by half.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Obstacle, root, say } from "../../scripts/run.mjs";
import { measureReading } from "./reading.mjs";
import { WORKLOADS } from "./workloads.mjs";

const FILE = join(root, "bench/floors.json");
const NUM_ROUNDS = 2;
const NUM_TRIES = 3;

/** Who is compared with the workload's floor, the first of its readers. */
const GUARDED = { batches: "module", network: "open(url)", kernels: "module", search: "module" };

/** The least that a reader took in its warm runs is what is hindered least. */
function leastMs({ samples }, reader) {
  const least = {};
  for (const { runs } of samples.filter((sample) => sample.reader === reader)) {
    for (const { ms } of runs.slice(1)) {
      for (const name of Object.keys(ms)) least[name] = Math.min(least[name] ?? ms[name], ms[name]);
    }
  }
  return least;
}

/** `workload: work` by how many times the floor it takes. */
function ratiosOf(name, result) {
  const { readers } = WORKLOADS.find((workload) => workload.name === name);
  const [floor, ours] = [leastMs(result, readers[0]), leastMs(result, GUARDED[name])];
  const names = Object.keys(ours).filter((work) => work !== "both" && work !== "touch");
  return names
    .filter((work) => floor[work] !== undefined)
    .map((work) => [`${name}: ${work}`, ours[work] / floor[work]]);
}

/** Writes down what a whole run reached. */
export function keepRatios(results) {
  const ratios = Object.keys(GUARDED).flatMap((name) => ratiosOf(name, results[name]));
  const rounded = ratios.map(([name, ratio]) => [name, Number(ratio.toFixed(2))]);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`);
}

/** Refuses where a ratio is over twice what it was, however often it is tried. */
export async function guard(browser, site) {
  if (!existsSync(FILE)) return say("no bench/floors.json: a whole run writes it");
  const known = JSON.parse(readFileSync(FILE, "utf8"));
  let names = Object.keys(GUARDED);
  for (let tries = 1; ; tries++) {
    const fallen = [];
    for (const name of names) {
      const workload = WORKLOADS.find((workload) => workload.name === name);
      const readers = [workload.readers[0], GUARDED[name]];
      const alone = { ...workload, readers, touches: false };
      const result = await measureReading(browser, site, alone, NUM_ROUNDS);
      for (const [work, ratio] of ratiosOf(name, result)) {
        say(`${work}: ×${ratio.toFixed(2)} of its floor, was ×${known[work]?.toFixed(2)}`);
        if (ratio > 2 * known[work]) fallen.push({ name, work, ratio });
      }
    }
    if (fallen.length === 0) return;
    if (tries === NUM_TRIES) {
      const told = fallen.map(
        ({ work, ratio }) => `${work} takes ×${ratio.toFixed(2)} of its floor, was ×${known[work]}`,
      );
      throw new Obstacle(`fell by half or more: ${told.join("; ")} (bench/floors.json)`);
    }
    names = [...new Set(fallen.map(({ name }) => name))];
  }
}
