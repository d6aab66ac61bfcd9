// Measures the server with many readers, fast and slow: throughput, memory, and how long a newcomer waits.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { root, say } from "../scripts/run.mjs";
import { fraction, markdown, median, percent, spread } from "./browser/format.mjs";
import { verdict } from "./browser/machine.mjs";
import { resetPeak, statusBytes } from "./browser/processes.mjs";
import { Reader } from "./reader.mjs";
import { startServer } from "./server.mjs";

const NUM_ROWS = 6_001_215;
/** The rows that all readers at full speed read together, about 3 GB; one reader reads lineitem once. */
const ROWS_TOGETHER = 3 * NUM_ROWS;
/** Slow readers begin in this part of the table, so that none reaches its end. */
const SLOW_SHARE = 0.8;
const SLOW_SECONDS = 8;
const CONNECT_SECONDS = { fast: 1, slow: 20 };
const MAX_NEWCOMER_MS = 200;
const TICKS_A_SECOND = 100;

/** The options of the server; the variable adds some, to compare them. */
const FLAGS = [
  ...["--max-streams", "1100"],
  ...(process.env.COLONNADE_BENCH_FLAGS?.split(" ") ?? []),
];

const MIXED = "10,000, 100 or 1 KB/s";
const SLOWEST = "1 KB/s";
/** The bytes a second of readers, which take turns; without any, all read at full speed. */
const SPEEDS = { "full speed": [], [MIXED]: [10_000_000, 100_000, 1000], [SLOWEST]: [1000] };

const LOADS = [
  ...["full speed", MIXED].flatMap((speed) =>
    [1, 8, 64, 256, 1000].map((numReaders) => ({ numReaders, speed })),
  ),
  { numReaders: 1000, speed: SLOWEST },
];

/** Results; undefined except on Linux. */
export async function measureReaders({ site, lineitem, numRounds }) {
  if (process.platform !== "linux") return undefined;
  const results = { file: await compareWithFile(site, lineitem, numRounds), loads: [] };
  for (const load of LOADS) {
    const isSlow = SPEEDS[load.speed].length > 0;
    const samples = await withServer(lineitem, async (server) => {
      const taken = [];
      for (let round = 1; round <= (isSlow ? 1 : numRounds); round++) {
        say(`${load.numReaders} readers, ${load.speed}, round ${round}`);
        taken.push(await measureLoad(server, load, isSlow));
      }
      return taken;
    });
    results.loads.push({ ...load, samples });
  }
  return results;
}

/** Milliseconds in which one reader reads lineitem from a static file and from the server. */
async function compareWithFile(site, lineitem, numRounds) {
  return withServer(lineitem, async ({ rows }) => {
    const samples = [];
    for (let round = 0; round < numRounds; round++) {
      const fileMs = await msOf(`${site.origin}/files/lineitem.arrows`);
      samples.push({ fileMs, ms: await msOf(rows) });
    }
    return samples;
  });
}

async function msOf(url) {
  const reader = new Reader(url);
  await reader.read();
  if (reader.failure) throw new Error(`${url}: ${reader.failure}`);
  return reader.ms;
}

/** Calls `work` with a new server that has sent its first row and is idle. */
async function withServer(lineitem, work) {
  const server = await startServer([`arrow=${lineitem.arrow}`, ...FLAGS]);
  try {
    const rows = `${server.origin}/v1/tables/arrow/rows`;
    await msOf(`${rows}?limit=1`);
    return await work({ ...server, rows, idleBytes: statusBytes(server.pid, "VmRSS") });
  } finally {
    await server.close();
  }
}

async function measureLoad(server, { numReaders, speed }, isSlow) {
  const requests = requestsOf(server.rows, numReaders, SPEEDS[speed]);
  resetPeak(server.pid);
  const before = processorSeconds(server.pid);
  const child = fork(join(root, "bench/reader-load.mjs"));
  child.send({
    requests,
    connectSeconds: isSlow ? CONNECT_SECONDS.slow : CONNECT_SECONDS.fast,
    seconds: isSlow ? SLOW_SECONDS : undefined,
  });
  const [{ numConnected }] = await once(child, "message");
  const ended = once(child, "message");
  const comings = measureNewcomers(`${server.rows}?limit=10`, ended);
  const [{ readers }] = await ended;
  const ms = Math.max(...readers.map((reader) => reader.ms));
  const numBytes = readers.reduce((sum, reader) => sum + reader.numBytes, 0);
  const newcomers = await comings;
  const failures = [...readers, ...newcomers].map(({ failure }) => failure).filter(Boolean);
  if (failures.length > 0) say(`${failures.length} failures; the first one: ${failures[0]}`);
  child.disconnect();
  return {
    numConnected,
    newcomerMs: newcomers.map((newcomer) => newcomer.ms),
    firstMs: median(readers.map(({ firstMs, ms }) => firstMs ?? ms)),
    megabytesASecond: numBytes / ms / 1e3,
    slowest: Math.min(...readers.map((reader, index) => speedOf(reader, requests[index]))),
    secondsAGigabyte: (processorSeconds(server.pid) - before) / (numBytes / 1e9),
    numRefused: [...readers, ...newcomers].filter(({ numRefusals }) => numRefusals > 0).length,
    numFailed: failures.length,
    peakBytes: statusBytes(server.pid, "VmHWM"),
    growthBytes: statusBytes(server.pid, "VmHWM") - server.idleBytes,
  };
}

/** Readers of pages of their own, each with a result of its own. */
function requestsOf(rows, numReaders, speeds) {
  return Array.from({ length: numReaders }, (_, index) => {
    const bytesASecond = speeds[index % speeds.length];
    const numRows = Math.min(NUM_ROWS, Math.floor(ROWS_TOGETHER / numReaders));
    const share = bytesASecond === undefined ? 1 - numRows / NUM_ROWS : SLOW_SHARE;
    const offset = Math.floor((index / numReaders) * share * NUM_ROWS);
    const limit = bytesASecond === undefined ? `&limit=${numRows}` : "";
    return { url: `${rows}?id=${crypto.randomUUID()}&offset=${offset}${limit}`, bytesASecond };
  });
}

/** MB/s of a reader at full speed; of a slow reader, the part of its speed that it reached. */
function speedOf({ numBytes, ms }, { bytesASecond = 1e6 }) {
  return numBytes / (ms / 1e3) / bytesASecond;
}

/** Readers of ten rows beside the others, one after another. */
async function measureNewcomers(url, ended) {
  let hasEnded = false;
  const end = ended.finally(() => {
    hasEnded = true;
  });
  const newcomers = [];
  while (!hasEnded) {
    const newcomer = new Reader(url);
    newcomers.push(newcomer);
    await Promise.race([newcomer.read(), end]);
    newcomer.close();
    await wait(100);
  }
  return newcomers;
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

const ABOUT = `# The server with many readers

The server sends lineitem from an Arrow file, with \`${FLAGS.join(" ")}\`. Each reader has a result of its own and
begins at a row of its own. Readers at full speed read about 3 GB together (one reader: 1 GB). Slow readers take turns
with the given speeds, and are measured for ${SLOW_SECONDS} s after all of them are connected, or after
${CONNECT_SECONDS.slow} s. All readers run in one process on the same machine.

- *Slowest reader*: its MB/s, with the time that it waited; of slow readers, the part of its speed that it reached.
- *Newcomer*: the time to all of 10 rows, for one more request beside the others.
- *Growth*: the peak memory of the server, minus its memory before the readers came.
- *Refused*: readers and newcomers that had to ask again, because the first answer was 503.
- *Failed*: readers and newcomers that got another error, or not all bytes.`;

/** The section of the report, with one line for each load. */
export function readersSection({ loads }) {
  const rows = loads.map(({ numReaders, speed, samples }) => {
    const of = (key) => samples.map((sample) => sample[key]);
    const megabytes = (key) => String(Math.round(Math.max(...of(key)) / 1e6));
    const isSlow = SPEEDS[speed].length > 0;
    const slowest = Math.min(...of("slowest"));
    return [
      isSlow ? `${numReaders} (${of("numConnected")} connected)` : String(numReaders),
      speed,
      spread(of("firstMs")),
      median(of("megabytesASecond")).toFixed(isSlow ? 1 : 0),
      isSlow ? percent(slowest) : slowest.toFixed(1),
      spread(of("newcomerMs").flat()),
      isSlow ? "" : median(of("secondsAGigabyte")).toFixed(2),
      megabytes("peakBytes"),
      megabytes("growthBytes"),
      ...["numRefused", "numFailed"].map((key) => String(Math.max(...of(key)))),
    ];
  });
  const head = [
    "readers",
    "speed",
    "first byte, ms",
    "MB/s in total",
    "slowest reader",
    "newcomer, ms",
    "processor seconds per GB",
    "peak memory, MB",
    "growth, MB",
    "refused",
    "failed",
  ];
  return `${ABOUT}\n\n${markdown(head, rows)}`;
}

/** Rows of the table of targets. */
export function readerTargets({ file, loads }) {
  const ratio = median(file.map(({ ms, fileMs }) => fileMs / ms));
  return [
    [
      "throughput of an Arrow file, read by one reader",
      "at least 0.80 of a static file's",
      fraction(ratio),
      verdict(ratio >= 0.8),
    ],
    memoryTarget(loads, 64, MIXED, 400),
    memoryTarget(loads, 1000, SLOWEST, 1000),
    newcomerTarget(loads, 1000, MIXED),
    newcomerTarget(loads, 1000, SLOWEST),
  ];
}

function memoryTarget(loads, numReaders, speed, limitMegabytes) {
  const sample = sampleOf(loads, numReaders, speed);
  return [
    `peak memory, ${numReaders} readers at ${speed}`,
    `at most ${limitMegabytes} MB`,
    `${Math.round(sample.peakBytes / 1e6)} MB${lost(sample, numReaders)}`,
    verdict(sample.peakBytes <= limitMegabytes * 1e6 && lost(sample, numReaders) === ""),
  ];
}

function newcomerTarget(loads, numReaders, speed) {
  const sample = sampleOf(loads, numReaders, speed);
  const slowestMs = Math.max(...sample.newcomerMs);
  return [
    `slowest newcomer's first row, ${numReaders} readers at ${speed}`,
    `at most ${MAX_NEWCOMER_MS} ms`,
    `${Math.round(slowestMs)} ms${lost(sample, numReaders)}`,
    verdict(slowestMs <= MAX_NEWCOMER_MS && lost(sample, numReaders) === ""),
  ];
}

function sampleOf(loads, numReaders, speed) {
  return loads.find((load) => load.numReaders === numReaders && load.speed === speed).samples[0];
}

/** The readers that a measurement lacks; empty if there are none. */
function lost({ numConnected, numFailed }, numReaders) {
  if (numConnected === numReaders && numFailed === 0) return "";
  return ` (${numConnected} connected, ${numFailed} failed)`;
}
