// Measures whole tables, from an empty page to the last row: Colonnade, its peers and the floor.

import { say } from "../../scripts/run.mjs";
import { checkSums } from "./checksums.mjs";
import { readerAt } from "./former.mjs";
import { OtherLoad } from "./machine.mjs";
import { Peak } from "./memory.mjs";

/** The time limit for a reader; some never finish. */
const MAX_MS = 240_000;
/** Readers that take longer than this for a table are measured three times. */
const SLOW_MS = 10_000;
const SLOW_ROUNDS = 3;

const OURS = ["copy", "viewer", "open(url)"];
const ALL = [...OURS, "apache-arrow", "flechette"];
const ENGINES = ["duckdb-wasm", "perspective"];

/** The tables to read. `check`: the texts of the first and last rows are compared with pyarrow's. */
export const TABLES = [
  {
    name: "start",
    title: "Twenty rows: the cost of starting",
    stream: "twenty",
    readers: [...ALL, ...ENGINES],
  },
  ...["16 KiB", "64 KiB", "256 KiB", "1 MiB", "16 MiB"].map((chunk) => ({
    name: `sweep ${chunk}`,
    title: `1 GiB of 16 float64 columns in batches of ${chunk}`,
    stream: chunk,
    readers: ["copy", "open(url)", "apache-arrow", "flechette"],
  })),
  {
    name: "frame",
    title: "2^25 rows of an int64 and four float64",
    stream: "frame",
    readers: ALL,
    touches: true,
  },
  {
    name: "lineitem",
    title: "TPC-H lineitem, scale 1",
    file: "lineitem.arrows",
    readers: [...ALL, ...ENGINES],
    touches: true,
    works: true,
    check: true,
  },
  {
    name: "lineitem, Parquet",
    title: "TPC-H lineitem as one Parquet file, which Colonnade leaves to the server",
    file: "lineitem.parquet",
    readers: ["parquet-wasm"],
    check: true,
  },
  {
    name: "wide",
    title: "102,400 rows of 400 float64",
    stream: "wide",
    readers: [...ALL, ...ENGINES],
  },
  { name: "tall", title: "100 million rows of one float64", stream: "tall", readers: ALL },
];

/**
 * Samples of one workload: `{ reader, ms, works, checksum, cells, longTasksMs, peakBytes, codeBytes }`,
 * or `{ reader, error }`.
 */
export async function measureTable(browser, site, workload, { numRounds, cells }) {
  const { name, file, stream, readers, touches = false, works = false } = workload;
  const path = file === undefined ? `streams/${stream}` : `files/${file}`;
  const samples = [];
  const others = new OtherLoad();
  for (let round = 0; round < numRounds; round++) {
    say(`${name}, round ${round + 1} of ${numRounds}`);
    // The order alternates, so that drift affects all readers.
    for (const reader of round % 2 === 0 ? readers : readers.toReversed()) {
      const before = samples.filter((sample) => sample.reader === reader);
      if (before.some(({ error }) => error !== undefined)) continue;
      const isSlow = before.some(({ ms }) => Math.max(...Object.values(ms)) > SLOW_MS);
      if (isSlow && before.length >= SLOW_ROUNDS) continue;
      const { name: at, site: of } = readerAt(site, reader);
      const task = { reader: at, url: `${of.origin}/${path}`, touches, works };
      samples.push({ reader, ...(await sample(browser, of, task)) });
    }
  }
  checkOurs(name, samples);
  checkSums(
    name,
    samples.map(({ reader, checksum }) => [reader, checksum]),
  );
  for (const each of samples) {
    if (cells !== undefined && each.cells !== undefined && each.reader !== "copy") {
      each.wrong = firstDifference(each.cells, cells);
    }
    delete each.cells;
  }
  return { samples, othersShare: others.share() };
}

/** Throws if Colonnade or the floor failed; a failure of a peer is a result. */
function checkOurs(name, samples) {
  const failed = samples.find(({ reader, error }) => error && OURS.includes(reader));
  if (failed) throw new Error(`${name}, ${failed.reader}: ${failed.error}`);
}

async function sample(browser, site, task) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.goto(site.origin);
    await page.evaluate(() => gc());
    await site.codeBytes();
    const peak = new Peak();
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`not finished within ${MAX_MS / 1000} s`)), MAX_MS).unref();
    });
    const crashed = new Promise((_, reject) => {
      page.once("crash", () => reject(new Error("the page crashed: out of memory")));
    });
    try {
      const run = await Promise.race([
        page.evaluate((task) => readTable(task), task),
        late,
        crashed,
      ]);
      return { ...run, peakBytes: peak.end(), codeBytes: await site.codeBytes() };
    } catch (thrown) {
      return { error: thrown.message.split("\n", 1)[0], peakBytes: peak.end() };
    }
  } finally {
    await context.close();
  }
}

/** The first text that differs from pyarrow's; numbers may be formatted differently. */
function firstDifference(cells, expected) {
  for (const end of ["first", "last"]) {
    for (const [row, texts] of expected[end].entries()) {
      for (const [column, text] of texts.entries()) {
        const is = cells[end][row]?.[column];
        const isNumber = /^-?[\d.]+$/.test(text) && is !== null && is !== "";
        if (is === text || (isNumber && Number(is) === Number(text))) continue;
        return { column: expected.columns[column], is, text };
      }
    }
  }
  return undefined;
}
