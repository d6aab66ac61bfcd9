// Checks that no ratio of a time to its floor has doubled since the last complete run.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Obstacle, root, say } from "../../scripts/run.mjs";
import { measureReading } from "./reading.mjs";
import { WORKLOADS } from "./workloads.mjs";

const FILE = join(root, "bench/floors.json");
const NUM_ROUNDS = 2;
const NUM_TRIES = 3;

/** The reader of each workload that is compared with its floor, the workload's first reader. */
const GUARDED = { batches: "module", network: "open(url)", kernels: "module", search: "module" };

/** The minimum times of a reader in its warm runs; other programs disturb the minimum least. */
function minMs({ samples }, reader) {
  const min = {};
  for (const { runs } of samples.filter((sample) => sample.reader === reader)) {
    for (const { ms } of runs.slice(1)) {
      for (const name of Object.keys(ms)) min[name] = Math.min(min[name] ?? ms[name], ms[name]);
    }
  }
  return min;
}

/** Pairs of `workload: work` and the ratio of its time to the floor's. */
function ratiosOf(name, result) {
  const { readers } = WORKLOADS.find((workload) => workload.name === name);
  const [floor, ours] = [minMs(result, readers[0]), minMs(result, GUARDED[name])];
  const names = Object.keys(ours).filter((work) => work !== "both" && work !== "touch");
  return names
    .filter((work) => floor[work] !== undefined)
    .map((work) => [`${name}: ${work}`, ours[work] / floor[work]]);
}

/** Writes the ratios of a complete run. */
export function writeRatios(results) {
  const ratios = Object.keys(GUARDED).flatMap((name) => ratiosOf(name, results[name]));
  const rounded = ratios.map(([name, ratio]) => [name, Number(ratio.toFixed(2))]);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`);
}

/** Throws if a ratio is more than twice the one in `bench/floors.json` in each of `NUM_TRIES` tries. */
export async function guardFloors(browser, site) {
  if (!existsSync(FILE))
    return say("bench/floors.json is missing, so no ratio is checked; a complete run writes it");
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
        say(`${work}: ×${ratio.toFixed(2)} of its floor; expected ×${known[work]?.toFixed(2)}`);
        if (ratio > 2 * known[work]) fallen.push({ name, work, ratio });
      }
    }
    if (fallen.length === 0) return;
    if (tries === NUM_TRIES) {
      const messages = fallen.map(
        ({ work, ratio }) =>
          `${work} takes ×${ratio.toFixed(2)} of its floor instead of ×${known[work]}`,
      );
      throw new Obstacle(`more than twice as slow as in bench/floors.json: ${messages.join("; ")}`);
    }
    names = [...new Set(fallen.map(({ name }) => name))];
  }
}
