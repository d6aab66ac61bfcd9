// `npm run bench [-- --quick] [-- --only NAME]`: what reading a table costs in Chromium, beside the
// floors, apache-arrow and flechette; then what the server's ordered stream costs (`--only server`).
//
// Runs of what is compared take turns, each in a renderer and a worker of its own. A whole run writes
// `bench/RESULTS.md` and `bench/results.json`; `--quick` is one small run of each, which only shows
// that everything works and that all readers read the same.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "@playwright/test";
import { build } from "../scripts/build.mjs";
import { Obstacle, root, run, say, script } from "../scripts/run.mjs";
import { setUpChromium } from "../scripts/setup.mjs";
import { provideFlights } from "../scripts/start.mjs";
import { makeStream, NEEDLE } from "./browser/datasets.mjs";
import { describeMachine, load, Others } from "./browser/machine.mjs";
import { report } from "./browser/report.mjs";
import { openSite } from "./browser/site.mjs";
import { WORKLOADS } from "./browser/workloads.mjs";

/** Runs in one worker: the first is cold, the median of the others warm. */
const RUNS_A_WORKER = 4;
const NATIVE_BINARY = join(root, "target/release/colonnade-bench-native");

async function main() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
    },
  });
  const { quick: isQuick, only } = values;
  const numRounds = Number(values.rounds ?? (isQuick ? 1 : 5));
  const workloads = WORKLOADS.filter(({ name }) => only === undefined || name === only);
  if (workloads.length > 0) {
    await build(["wasm", "web"]);
    await run("cargo", ["build", "--locked", "--release", "-p", "colonnade-bench-native"]);
    const results = await measure(workloads, { isQuick, numRounds });
    const text = report(workloads, results);
    process.stdout.write(text);
    if (!isQuick && only === undefined) {
      writeFileSync(join(root, "bench/RESULTS.md"), text);
      writeFileSync(join(root, "bench/results.json"), `${JSON.stringify(results, null, 1)}\n`);
    }
  } else if (only !== "server") {
    const names = [...WORKLOADS.map(({ name }) => name), "server"];
    throw new Obstacle(`there is no benchmark "${only}"; there are ${names.join(", ")}`);
  }
  if (only === undefined || only === "server") {
    await build();
    provideFlights();
    const options = isQuick ? ["--", "--quick"] : [];
    await run("cargo", ["run", "--locked", "--release", "-p", "colonnade-bench", ...options]);
  }
}

/** Samples by workload and reader, each with the runs of one worker. */
async function measure(workloads, { isQuick, numRounds }) {
  const executablePath = await setUpChromium();
  const streams = new Map();
  const site = await openSite(streams);
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({
    executablePath,
    args: ["--js-flags=--expose-gc", ...(isRoot ? ["--no-sandbox"] : [])],
  });
  const folder = mkdtempSync(join(tmpdir(), "colonnade-bench-"));
  const results = {
    machine: describeMachine(browser.version(), peerVersions()),
    numRounds,
    loadBefore: load(),
    workloads: {},
  };
  try {
    for (const workload of workloads) {
      const { bytes, ...shape } = makeStream(workload.stream, isQuick);
      streams.set(workload.stream, bytes);
      const url = `${site.origin}/streams/${workload.stream}`;
      const file = join(folder, workload.stream);
      writeFileSync(file, bytes);
      const samples = [];
      const others = new Others();
      for (let round = 0; round < numRounds; round++) {
        say(`${workload.name}, round ${round + 1} of ${numRounds}`);
        // Forwards and backwards in turn: whatever drifts, drifts for all.
        const readers = workload.kind === "scroll" ? ["viewer"] : workload.readers;
        for (const reader of round % 2 === 0 ? readers : readers.toReversed()) {
          samples.push({
            reader,
            ...(await sample(browser, workload, reader, { site, url, file })),
          });
        }
      }
      checkSums(workload, samples);
      results.workloads[workload.name] = {
        numBytes: bytes.length,
        ...shape,
        othersShare: others.share(),
        samples,
      };
      streams.delete(workload.stream);
    }
  } finally {
    await browser.close();
    site.close();
    rmSync(folder, { recursive: true });
  }
  results.loadAfter = load();
  return results;
}

/** One reader's runs in a renderer of its own, or in a process. */
async function sample(browser, { kind, touches = false }, reader, { site, url, file }) {
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

/** Refuses where two readers read something different. */
function checkSums({ name }, samples) {
  const sums = new Map();
  for (const { reader, runs = [] } of samples) {
    if (reader === "copy") continue;
    for (const { checksum } of runs) {
      if (checksum !== undefined && checksum !== null) sums.set(checksum, reader);
    }
  }
  if (sums.size <= 1) return;
  const pairs = [...sums].map(([sum, reader]) => `${reader}: ${sum}`);
  throw new Error(`${name}: the readers do not agree: ${pairs.join("; ")}`);
}

function peerVersions() {
  const version = (path) => JSON.parse(readFileSync(join(root, path), "utf8")).version;
  return {
    "apache-arrow": version("node_modules/apache-arrow/package.json"),
    flechette: version("node_modules/@uwdata/flechette/package.json"),
    colonnade: version("web/package.json"),
  };
}

await script(main);
