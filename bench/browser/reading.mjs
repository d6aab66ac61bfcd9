// Reading alone: one workload's readers in turns, each in a renderer and a worker of its own.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, say } from "../../scripts/run.mjs";
import { checkSums } from "./agree.mjs";
import { NEEDLE } from "./datasets.mjs";
import { Others } from "./machine.mjs";

/** Runs in one worker: the first is cold, the median of the others warm. */
const RUNS_A_WORKER = 4;
const NATIVE_BINARY = join(root, "target/release/colonnade-bench-native");

/** The stream's shape, and samples by reader, each with the runs of one worker. */
export async function measureReading(browser, site, workload, numRounds) {
  const shape = await site.shapeOf(workload.stream);
  const url = `${site.origin}/streams/${workload.stream}`;
  const folder = mkdtempSync(join(tmpdir(), "colonnade-bench-"));
  const file = join(folder, "stream");
  const samples = [];
  const others = new Others();
  try {
    if (workload.readers.includes("native")) {
      writeFileSync(file, Buffer.from(await (await fetch(url)).arrayBuffer()));
    }
    for (let round = 0; round < numRounds; round++) {
      say(`${workload.name}, round ${round + 1} of ${numRounds}`);
      // Forwards and backwards in turn: whatever drifts, drifts for all.
      const readers = workload.kind === "scroll" ? ["viewer"] : workload.readers;
      for (const reader of round % 2 === 0 ? readers : readers.toReversed()) {
        samples.push({ reader, ...(await sample(browser, site, workload, reader, { url, file })) });
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  // The floor reads headers as values, too.
  const ofReaders = samples.filter(({ reader }) => reader !== "copy");
  checkSums(
    workload.name,
    ofReaders.flatMap(({ reader, runs = [] }) => runs.map(({ checksum }) => [reader, checksum])),
  );
  return { ...shape, othersShare: others.share(), samples };
}

/** One reader's runs in a renderer of its own, or in a process. */
async function sample(browser, site, { kind, touches = false }, reader, { url, file }) {
  if (reader === "native") {
    const output = execFileSync(NATIVE_BINARY, [file, String(RUNS_A_WORKER), NEEDLE]);
    const runs = JSON.parse(String(output));
    return { runs: runs.map(({ checksum, ...ms }) => ({ ms, checksum })) };
  }
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.goto(site.origin);
    if (kind === "scroll") return { frames: await page.evaluate((to) => scrollWhile(to), url) };
    const task = { reader, url, kind, touches, numRuns: RUNS_A_WORKER, needle: NEEDLE };
    return { runs: await page.evaluate((task) => perform(task), task) };
  } finally {
    await context.close();
  }
}
