// Measures reading without a page: a workload's readers alternate, each in a new renderer and worker.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, say } from "../../scripts/run.mjs";
import { checkSums } from "./checksums.mjs";
import { NEEDLE } from "./datasets.mjs";
import { readerAt } from "./former.mjs";
import { OtherLoad } from "./machine.mjs";

/** The runs in one worker: the first is cold, the others are warm. */
const RUNS_A_WORKER = 4;
/** The readers that return batches while they arrive; flechette returns all at the end. */
const BATCH_READERS = ["module", "apache-arrow async", "apache-arrow sync"];
const NATIVE_BINARY = join(root, "target/release/colonnade-bench-native");

/**
 * Returns the stream's shape, and `samples`, each with the reader and the runs of one worker. If the
 * workload times batches, `batches` holds the times from separate runs.
 */
export async function measureReading(browser, site, workload, numRounds) {
  const shape = await site.shapeOf(workload.stream);
  const path = `streams/${workload.stream}`;
  const folder = mkdtempSync(join(tmpdir(), "colonnade-bench-"));
  const file = join(folder, "stream");
  const samples = [];
  const batches = [];
  const others = new OtherLoad();
  try {
    if (workload.readers.includes("native")) {
      writeFileSync(file, Buffer.from(await (await fetch(`${site.origin}/${path}`)).arrayBuffer()));
    }
    for (let round = 0; round < numRounds; round++) {
      say(`${workload.name}, round ${round + 1} of ${numRounds}`);
      // The order alternates, so that drift affects all readers.
      const readers = workload.kind === "scroll" ? ["viewer"] : workload.readers;
      for (const reader of round % 2 === 0 ? readers : readers.toReversed()) {
        const { name, site: of } = readerAt(site, reader);
        const bytes = { url: `${of.origin}/${path}`, file };
        samples.push({ reader, ...(await sample(browser, of, workload, name, bytes)) });
      }
      if (!workload.timesBatches) continue;
      for (const reader of BATCH_READERS) {
        const timed = { ...workload, touches: false };
        const bytes = { url: `${site.origin}/${path}`, file, isTimed: true };
        const { runs } = await sample(browser, site, timed, reader, bytes);
        // Without the cold run.
        batches.push({ reader, us: distribution(runs.slice(1).flatMap(({ batchUs }) => batchUs)) });
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  // The floor also sums headers, so its checksum differs.
  const ofReaders = samples.filter(({ reader }) => reader !== "copy");
  checkSums(
    workload.name,
    ofReaders.flatMap(({ reader, runs = [] }) => runs.map(({ checksum }) => [reader, checksum])),
  );
  return { ...shape, othersShare: others.share(), samples, batches };
}

function distribution(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const squares = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { mean, p95: at(0.95), p99: at(0.99), deviation: Math.sqrt(squares / sorted.length) };
}

/** One reader's runs in a new renderer; native code runs in a process instead. */
async function sample(browser, site, workload, reader, { url, file, isTimed = false }) {
  const { kind, touches = false } = workload;
  if (reader === "native") {
    const output = execFileSync(NATIVE_BINARY, [file, String(RUNS_A_WORKER), NEEDLE]);
    const runs = JSON.parse(String(output));
    return { runs: runs.map(({ checksum, ...ms }) => ({ ms, checksum })) };
  }
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    // A cross-origin isolated page has a finer clock.
    await page.goto(isTimed ? `${site.origin}/isolated` : site.origin);
    if (kind === "scroll") return { frames: await page.evaluate((to) => scrollWhile(to), url) };
    const task = {
      reader,
      url,
      kind,
      touches,
      timesBatches: isTimed,
      numRuns: RUNS_A_WORKER,
      needle: NEEDLE,
    };
    return { runs: await page.evaluate((task) => perform(task), task) };
  } finally {
    await context.close();
  }
}
