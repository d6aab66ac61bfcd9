// Measures the server with many readers: throughput, processor time and memory, compared with a static file.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { say } from "../scripts/run.mjs";
import { markdown, median, spread } from "./browser/format.mjs";
import { verdict } from "./browser/machine.mjs";
import { resetPeak, statusBytes } from "./browser/processes.mjs";
import { startServer } from "./server.mjs";

const NUM_READERS = [1, 8, 64];
/** The rows of lineitem for each reader, about 8 GB in total. */
const ROWS = { 1: 6_001_215, 8: 6_001_215, 64: 750_000 };
const TICKS_A_SECOND = 100;

/** Runs curl; resolves with its number of bytes, its seconds, and its seconds to the first byte. */
function curl(url) {
  return new Promise((resolve, reject) => {
    const format = "%{size_download} %{time_total} %{time_starttransfer} %{http_code}";
    const child = spawn("curl", ["-s", "-o", "/dev/null", "-w", format, url]);
    let text = "";
    child.stdout.on("data", (bytes) => {
      text += bytes;
    });
    child.once("error", reject);
    // Not "exit", because output may arrive after it.
    child.once("close", () => {
      const [numBytes, seconds, firstSeconds, status] = text.split(" ").map(Number);
      if (status === 200) resolve({ numBytes, seconds, firstSeconds });
      else reject(new Error(`${url}: ${status}`));
    });
  });
}

function processorSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) / TICKS_A_SECOND;
}

/** Samples by number of readers; undefined except on Linux. */
export async function measureReaders({ site, lineitem, numRounds }) {
  if (process.platform !== "linux") return undefined;
  const server = await startServer([`arrow=${lineitem.arrow}`, "--max-streams", "64"]);
  const results = [];
  try {
    const rows = `${server.origin}/v1/tables/arrow/rows`;
    await curl(`${rows}?limit=1`);
    for (const numReaders of NUM_READERS) {
      const samples = [];
      for (let round = 0; round < numRounds; round++) {
        say(`${numReaders} readers, round ${round + 1} of ${numRounds}`);
        const fileMs =
          numReaders === 1
            ? (await curl(`${site.origin}/files/lineitem.arrows`)).seconds * 1e3
            : undefined;
        resetPeak(server.pid);
        const before = processorSeconds(server.pid);
        const startMs = performance.now();
        const url = `${rows}?limit=${ROWS[numReaders]}`;
        const runs = await Promise.all(Array.from({ length: numReaders }, () => curl(url)));
        const ms = performance.now() - startMs;
        const numBytes = runs.reduce((sum, run) => sum + run.numBytes, 0);
        samples.push({
          ms,
          fileMs,
          firstMs: median(runs.map(({ firstSeconds }) => firstSeconds * 1e3)),
          gigabytesASecond: numBytes / ms / 1e6,
          secondsAGigabyte: (processorSeconds(server.pid) - before) / (numBytes / 1e9),
          peakBytes: statusBytes(server.pid, "VmHWM"),
        });
      }
      results.push({ numReaders, samples });
    }
  } finally {
    await server.close();
  }
  return results;
}

const ABOUT = `# The server with many readers

The server sends lineitem from an Arrow file. Curl processes on the same machine read it at the same time; the first
column is their number.`;

/** The section of the report, with one line for each number of readers. */
export function readersSection(results) {
  const rows = results.map(({ numReaders, samples }) => {
    const of = (key) => samples.map((sample) => sample[key]);
    return [
      String(numReaders),
      spread(of("firstMs")),
      median(of("gigabytesASecond")).toFixed(2),
      median(of("secondsAGigabyte")).toFixed(2),
      String(Math.round(Math.max(...of("peakBytes")) / 1e6)),
    ];
  });
  const head = [
    "readers",
    "first byte, ms",
    "GB/s in total",
    "processor seconds per GB",
    "peak memory, MB",
  ];
  return `${ABOUT}\n\n${markdown(head, rows)}`;
}

/** Rows of the table of targets. */
export function readerTargets([alone]) {
  if (alone === undefined) return [];
  const ratios = alone.samples.map(({ ms, fileMs }) => fileMs / ms);
  const ratio = median(ratios);
  return [
    [
      "throughput of an Arrow file, read by one curl",
      "at least 0.80 of a static file's",
      ratio.toFixed(2),
      verdict(ratio >= 0.8),
    ],
  ];
}
