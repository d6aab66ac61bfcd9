// `node bench/parquet-in-tab.mjs [--rounds N] [--seed N] [--only READER] [--without-all]`: measures how a page shows a
// remote Parquet file over a link, with Colonnade and with peers. `npm run build:web` has to run before.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "@playwright/test";
import { cacheDir } from "../scripts/cache.mjs";
import { CHROMIUM_ARGUMENTS } from "../scripts/chromium.mjs";
import { Obstacle, root, say, script } from "../scripts/run.mjs";
import { setUpBrowsers, setUpPython } from "../scripts/setup.mjs";
import { formatMs, fraction, markdown, median, spread } from "./browser/format.mjs";
import { inTabSite, LOOK, PEERS } from "./browser/in-tab-site.mjs";
import { BYTES_PER_SECOND, openLink, ROUND_TRIP_MS } from "./browser/link.mjs";
import { describeMachine, OtherLoad } from "./browser/machine.mjs";
import { Peak } from "./browser/memory.mjs";
import { startWebServer } from "./browser/web-server.mjs";
import { startServer } from "./server.mjs";

const OURS = "colonnade";
const BILLION = "colonnade, 10^9 rows";
const SERVER = "colonnade's server";
/** Rows that each reader goes to in each round. */
const NUM_ROWS = 5;
/** All columns of lineitem fit. */
const VIEWPORT = { width: 2400, height: 900 };
/** The link is at rest after this time without new bytes. */
const REST_MS = 500;
const MAX_REST_MS = 10_000;
const TIMEOUT_MS = 180_000;

/** The files by name, with their numbers of rows. */
const FILES = { lineitem: 6_001_215, billion: 1_000_000_000 };

/**
 * Samples of each reader by its name: how long it takes over the link to show first rows, other rows and another file,
 * and without the link to read all rows.
 */
export async function measureParquetInTab({ numRounds, seed, only, withAll = true }) {
  const paths = provideFiles();
  const names = Object.keys(paths).filter((name) => name !== "other");
  const code = await inTabSite(names);
  const files = Object.entries(paths).map(([name, path]) => [`/files/${name}.parquet`, path]);
  const web = await startWebServer({ code, files: Object.fromEntries(files) });
  const link = await openLink(web.port);
  const random = randomFrom(seed);
  const rounds = Array.from({ length: numRounds }, () => ({
    lineitem: rowsOf(random, FILES.lineitem),
    billion: rowsOf(random, FILES.billion),
  }));
  const readers = [OURS, ...PEERS, ...(paths.billion ? [BILLION] : [])].filter(
    (name) => only === undefined || name === only,
  );
  const results = { seed, numRounds, readers: {}, all: {}, differences: {}, failures: {} };
  try {
    for (const [index, rows] of rounds.entries()) {
      for (const name of readers) {
        say(`${name}, round ${index + 1}`);
        const file = name === BILLION ? "billion" : "lineitem";
        const page = name === BILLION ? OURS : name;
        await sampled(results, "readers", name, () =>
          inFreshBrowser((tab) => showRows(tab, link, page, file, rows[file])),
        );
      }
    }
    results.differences = await compareCells(results, paths);
    if (withAll) await measureAll(results, web.origin, paths, readers);
  } finally {
    link.close();
    web.close();
  }
  return results;
}

/** Adds a sample of a reader; a failure is noted, and ends the measurement of that reader. */
async function sampled({ failures, ...results }, group, name, measure) {
  const key = `${group} ${name}`;
  if (failures[key] !== undefined) return;
  const others = new OtherLoad();
  try {
    const sample = await measure();
    results[group][name] ??= [];
    results[group][name].push({ ...sample, othersShare: others.share() });
  } catch (thrown) {
    failures[key] = thrown instanceof Error ? thrown.message : String(thrown);
    say(`${name}: ${failures[key]}`);
  }
}

/** Calls `work` with a tab of a browser that has nothing in its cache. */
async function inFreshBrowser(work) {
  const { COLONNADE_CHROMIUM: executablePath } = await setUpBrowsers(["Chromium"]);
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGUMENTS });
  try {
    const tab = await browser.newPage({ viewport: VIEWPORT });
    const failed = new Promise((_, reject) => {
      tab.on("pageerror", reject);
      tab.on("crash", () => reject(new Error("the tab crashed")));
      setTimeout(() => reject(new Error("no end in sight")), TIMEOUT_MS).unref();
    });
    failed.catch(() => undefined);
    return await Promise.race([work(tab), failed]);
  } finally {
    await browser.close();
  }
}

/** First rows, `rows` and another file in one tab. */
async function showRows(tab, link, page, file, rows) {
  await tab.goto("about:blank");
  await tab.addInitScript({ path: LOOK });
  await link.take();
  await tab.goto(`${link.origin}/${page}/${file}/show.html`, { waitUntil: "commit" });
  const first = await tab.evaluate("firstPainted");
  const startMs = await tab.evaluate("performance.timeOrigin");
  const sample = { cold: await step(link, { startMs, ...first }, 0), rows: [] };
  sample.coldLater = await atRest(link);
  for (const row of rows) {
    const painted = await tab.evaluate(`paintedAfter(() => showRow(${row}), ${row})`);
    sample.rows.push(await step(link, painted, row));
    await atRest(link);
  }
  if (file === "lineitem") {
    const other = "/files/other.parquet";
    const painted = await tab.evaluate(`paintedAfter(() => openFile("${other}"), 0)`);
    sample.second = await step(link, painted, 0);
  }
  return sample;
}

/** What happened on the link until a row was painted. */
async function step(link, { startMs, atMs, cells }, row) {
  const requests = (await link.take()).filter(({ path }) => path !== "/favicon.ico");
  const ms = atMs - startMs;
  const data = requests.filter(({ path }) => path.startsWith("/files/"));
  return {
    ...{ row, ms, cells, requests: requests.length, dataRequests: data.length },
    bytes: sum(requests),
    dataBytes: sum(data),
    rounds: roundsOf(requests, atMs),
    dataRounds: roundsOf(data, atMs),
    log: requests.map((request) => ({
      ...request,
      sentMs: request.sentMs - startMs,
      firstMs: request.firstMs - startMs,
      lastMs: request.lastMs - startMs,
    })),
  };
}

const sum = (requests) => requests.reduce((total, { bytes }) => total + bytes, 0);

/** The length of the longest chain of requests, of which each was sent after the end of the one before. */
function roundsOf(requests, untilMs) {
  const sorted = requests
    .filter(({ sentMs }) => sentMs < untilMs)
    .sort((a, b) => a.sentMs - b.sentMs);
  const rounds = [];
  for (const { sentMs } of sorted) {
    const before = sorted.map(({ lastMs }, index) => (lastMs <= sentMs ? (rounds[index] ?? 0) : 0));
    rounds.push(1 + Math.max(0, ...before));
  }
  return Math.max(0, ...rounds);
}

/** Waits until the link is at rest; resolves with the requests and bytes until then. */
async function atRest(link) {
  const all = [];
  for (let waitedMs = 0; waitedMs < MAX_REST_MS; waitedMs += REST_MS) {
    await wait(REST_MS);
    const requests = await link.take();
    if (requests.length === 0) break;
    all.push(...requests);
  }
  return { requests: all.length, bytes: sum(all) };
}

/** Reads all rows with each reader on loopback, without the link. */
async function measureAll(results, origin, paths, readers) {
  const server = await startServer([`lineitem=${paths.lineitem}`, "--allow-origin", origin]);
  try {
    const pages = readers
      .filter((name) => name !== BILLION)
      .map((name) => [name, `${origin}/${name}/lineitem/all.html`]);
    const ours = `${origin}/${OURS}/lineitem/all.html`;
    if (readers.includes(OURS)) {
      pages.unshift([SERVER, `${ours}?src=${server.origin}/v1/tables/lineitem/rows`]);
    }
    for (let round = 1; round <= results.numRounds; round++) {
      for (const [name, url] of pages) {
        say(`all rows with ${name}, round ${round}`);
        await sampled(results, "all", name, () => inFreshBrowser((tab) => readAll(tab, url)));
      }
    }
  } finally {
    await server.close();
  }
}

async function readAll(tab, url) {
  await tab.goto("about:blank");
  const peak = new Peak();
  await tab.goto(url, { waitUntil: "load" });
  const { numRows, state, atMs } = await tab.evaluate("allRead");
  const peakBytes = peak.end();
  if (numRows !== FILES.lineitem || state !== "complete") {
    throw new Error(`${numRows} rows were read, and the table is ${state}`);
  }
  return { ms: atMs - (await tab.evaluate("performance.timeOrigin")), peakBytes };
}

/** The columns whose texts differ from pyarrow's in a row that was shown, by reader, each with an example. */
async function compareCells(results, paths) {
  const environment = await setUpPython();
  if (environment === undefined) return {};
  const differences = {};
  const program = join(root, "bench/native/parquet_rows.py");
  for (const [name, samples] of Object.entries(results.readers)) {
    const steps = samples.flatMap(({ cold, rows, second }) => [cold, ...rows, second ?? cold]);
    const path = name === BILLION ? paths.billion : paths.lineitem;
    const numbers = [...new Set(steps.map(({ row }) => String(row)))];
    const { columns, rows } = JSON.parse(
      String(execFileSync(environment.python, [program, path, ...numbers])),
    );
    const found = {};
    for (const { row, cells } of steps) {
      if (cells.length !== columns.length) found["all columns"] = `${cells.length} cells`;
      for (const [index, column] of columns.entries()) {
        const expected = rows[row][index];
        if (cells[index] !== expected) found[column] ??= `\`${cells[index]}\` for \`${expected}\``;
      }
    }
    differences[name] = { numCells: steps.length * columns.length, found };
  }
  return differences;
}

/** The paths of the files by name: lineitem, a copy of it, and the file of 10^9 rows, if there is one. */
function provideFiles() {
  const lineitem = join(cacheDir(), "lineitem.parquet");
  if (!existsSync(lineitem)) throw new Obstacle("there is no lineitem; `npm start` writes it once");
  mkdirSync(join(cacheDir(), "bench"), { recursive: true });
  const other = join(cacheDir(), "bench", "other.parquet");
  if (!existsSync(other) || statSync(other).size !== statSync(lineitem).size) {
    copyFileSync(lineitem, other);
  }
  // Another time of the change makes another ETag.
  const time = new Date(statSync(lineitem).mtimeMs - 1_000_000);
  utimesSync(other, time, time);
  const billion = join(cacheDir(), "billion.parquet");
  return { lineitem, other, ...(existsSync(billion) ? { billion } : {}) };
}

/** Numbers from 0 to 1 that only depend on the seed (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function rowsOf(random, numRows) {
  return Array.from({ length: NUM_ROWS }, () => Math.floor(random() * numRows));
}

const ABOUT = `# A remote Parquet file in a tab

nginx serves lineitem (239 MB, 6,001,215 rows) and code that was compressed with gzip -9; Debian's nginx has no brotli.
Between it and Chromium is a link with a round trip of ${ROUND_TRIP_MS} ms, also for a new connection, and
100 Mbit/s in each direction. Each sample starts a new browser. Its page shows first rows, goes to ${NUM_ROWS} random
rows, and opens another file. Medians, with the least and the greatest in brackets.

- *First rows*: from the start of the navigation until row 0 is painted. *Bytes* and *requests* include code.
- *Rounds*: the longest chain of requests, of which each was sent after the end of the one before.
- *Floor*: the bytes at the rate of the link, and the rounds of requests and one of the connection.
- *All rows*: without the link, from the start of the navigation until all rows are in memory.`;

const STEPS = {
  "first rows": ({ cold }) => [cold],
  "any row": ({ rows }) => rows,
  "another file": ({ second }) => (second ? [second] : []),
};

/** The section of the report. */
export function parquetInTabSection(results) {
  const parts = [ABOUT, `The seed of the rows is ${results.seed}.`];
  for (const [name, stepsOf] of Object.entries(STEPS)) {
    const steps = Object.entries(results.readers)
      .map(([reader, samples]) => [reader, samples.flatMap(stepsOf)])
      .filter(([, taken]) => taken.length > 0);
    parts.push(markdown(stepHead(name), stepRows(steps)));
  }
  parts.push(allTable(results), cellsTable(results));
  const failures = Object.entries(results.failures).map(([name, why]) => `- ${name}: ${why}`);
  return [...parts, failures.join("\n")].filter(Boolean).join("\n\n");
}

function stepHead(name) {
  const data = ["bytes of data", "requests", "of them data", "rounds", "of data"];
  return [name, "ms", "MB", ...data, "ours / peer", "floor, ms", "ms / floor"];
}

function stepRows(steps) {
  const ours = steps.find(([reader]) => reader === OURS)?.[1];
  return steps.map(([reader, taken]) => {
    const of = (key) => median(taken.map((each) => each[key]));
    const floorMs = median(taken.map(floorOf));
    const isPeer = PEERS.includes(reader) && ours !== undefined;
    return [
      ...[reader, spread(taken.map(({ ms }) => ms)), megabytes(of("bytes"))],
      ...[megabytes(of("dataBytes")), of("requests"), of("dataRequests")],
      ...[of("rounds"), of("dataRounds")],
      isPeer ? fraction(median(ours.map(({ ms }) => ms)) / of("ms")) : "",
      ...[formatMs(floorMs), fraction(of("ms") / floorMs)],
    ];
  });
}

/** The least time in which the link can do what a step asked of it. */
function floorOf({ bytes, rounds }) {
  return (bytes / BYTES_PER_SECOND) * 1000 + rounds * ROUND_TRIP_MS;
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(2);

function allTable({ all }) {
  const ours = all[OURS];
  const rows = Object.entries(all).map(([reader, samples]) => {
    const ms = samples.map((each) => each.ms);
    const peak = median(samples.map(({ peakBytes }) => peakBytes));
    const ratio =
      ours && reader !== OURS ? median(ours.map((each) => each.ms)) / median(ms) : undefined;
    return [reader, spread(ms), megabytes(peak), ratio === undefined ? "" : fraction(ratio)];
  });
  return rows.length > 0
    ? markdown(["all rows", "ms", "peak of memory, MB", "ours / other"], rows)
    : "";
}

function cellsTable({ differences }) {
  const rows = Object.entries(differences).map(([reader, { numCells, found }]) => {
    const examples = Object.entries(found).map(([column, example]) => `${column}: ${example}`);
    return [reader, numCells, examples.join("; ") || "none"];
  });
  return markdown(["cells", "compared with pyarrow", "other text"], rows);
}

async function main() {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      seed: { type: "string" },
      only: { type: "string" },
      json: { type: "boolean", default: false },
      "without-all": { type: "boolean", default: false },
    },
  });
  const results = await measureParquetInTab({
    numRounds: Number(values.rounds),
    seed: Number(values.seed ?? Date.now() % 2 ** 31),
    only: values.only,
    withAll: !values["without-all"],
  });
  const machine = Object.entries(describeMachine({})).map((entry) => entry.join(": "));
  if (values.json) process.stdout.write(JSON.stringify(results));
  else process.stdout.write(`${parquetInTabSection(results)}\n\n${machine.join(", ")}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await script(main);
