// `npm run bench [-- --quick | --full] [-- --only NAME] [-- --against COMMIT] [-- --continue]`: reads the same tables
// with Colonnade, its peers and the physical floor.
//
// Compared readers alternate within each round. A complete run writes `bench/RESULTS.md` with its plots,
// and `bench/floors.json`. `--only` writes the sections of that file that it measured. `--against` measures Colonnade
// also as it was at another commit, in turns with the present one, and only prints the report. Raw numbers are in
// `bench/results.json` of the cache folder (`cacheDir`), where `--continue` finds those of an interrupted run. `--quick` runs each benchmark once and small: it
// checks that all readers read the same, and fails if the ratio of a time to its floor has doubled.
// `--only soak [--minutes N] [--seed N]` checks a server under load; it is not part of a whole run.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "@playwright/test";
import { build } from "../scripts/build.mjs";
import { cacheDir } from "../scripts/cache.mjs";
import { CHROMIUM_ARGUMENTS } from "../scripts/chromium.mjs";
import { Obstacle, root, run, say, script } from "../scripts/run.mjs";
import { setUpBrowsers, setUpPython } from "../scripts/setup.mjs";
import { provideFlights } from "../scripts/start.mjs";
import { guardFloors, writeRatios } from "./browser/floor-guard.mjs";
import { buildFormer, withFormer } from "./browser/former.mjs";
import { describeMachine, isNoisy, load, OtherLoad, quietly } from "./browser/machine.mjs";
import { measureReading } from "./browser/reading.mjs";
import { report } from "./browser/report.mjs";
import { withSections } from "./browser/sections.mjs";
import { openSite } from "./browser/site.mjs";
import { measureTable, TABLES } from "./browser/tables.mjs";
import { WORKLOADS } from "./browser/workloads.mjs";
import { measureBrowsers } from "./browsers.mjs";
import { measureEngines } from "./engines.mjs";
import { measureReaders } from "./readers.mjs";
import { benchBinary, provideLineitem } from "./server.mjs";
import { soak } from "./soak.mjs";
import { measureSpark } from "./spark.mjs";
import { measureStatements } from "./statements.mjs";

/** The readers that are Colonnade. */
const OURS = ["viewer", "module", "open(url)", "open(stream)", "open(buffer)"];
/** The benchmarks besides the tables and workloads in a browser. */
const SECTIONS = ["browsers", "readers", "engines", "spark", "statements", "stream"];
/** The share of the rounds that slower benchmarks run. */
const FEWER_SHARE = 0.6;
/** The tables of `--quick`, which need no large files and no installed peers. */
const QUICK_TABLES = ["start", "frame", "wide", "tall"];

async function main() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      continue: { type: "boolean", default: false },
      only: { type: "string" },
      against: { type: "string" },
      rounds: { type: "string" },
      minutes: { type: "string", default: "20" },
      seed: { type: "string" },
    },
  });
  if (values.only === "soak") {
    await build();
    return soak({
      minutes: Number(values.minutes),
      seed: Number(values.seed ?? Date.now() % 2 ** 31),
    });
  }
  const { quick: isQuick, only, against } = values;
  const numRounds = Number(values.rounds ?? (isQuick ? 1 : values.full ? 10 : 5));
  const isWhole = !isQuick && only === undefined && against === undefined;
  const isSelected = (name) => only === undefined || name === only || name.startsWith(`${only} `);
  const plan = {
    workloads: WORKLOADS.filter(({ name }) => isSelected(name)),
    tables: TABLES.filter(
      ({ name }) => isSelected(name) && (!isQuick || QUICK_TABLES.includes(name)),
    ),
    sections: SECTIONS.filter((name) => isSelected(name) && (!isQuick || name === "stream")),
  };
  if (Object.values(plan).every(({ length }) => length === 0)) {
    const names = [...WORKLOADS, ...TABLES].map(({ name }) => name);
    throw new Obstacle(
      `there is no benchmark "${only}"; choose one of ${[...names, ...SECTIONS, "soak"].join(", ")}`,
    );
  }
  await build();
  provideFlights();
  for (const crate of ["colonnade-bench-native", "colonnade-bench"]) {
    await run("cargo", ["build", "--locked", "--release", "-p", crate]);
  }
  const former = against === undefined ? undefined : await buildFormer(against);
  if (former !== undefined) {
    for (const each of [...plan.tables, ...plan.workloads]) {
      each.readers = withFormer(each.readers, OURS, former.hash);
    }
  }
  if (!isQuick) await requireQuietMachine();
  const results = await measure(plan, {
    isQuick,
    former,
    numRounds,
    isGuarded: isQuick && !only,
    isWhole,
    continues: isWhole && values.continue,
  });
  const { text, files } = report(plan, results);
  process.stdout.write(text);
  const page = join(root, "bench/RESULTS.md");
  if (!isQuick && former === undefined)
    writeFileSync(page, isWhole ? text : withSections(readFileSync(page, "utf8"), text));
  if (!isWhole) return;
  writeRatios(results.workloads);
  mkdirSync(join(root, "bench/plots"), { recursive: true });
  for (const [name, svg] of Object.entries(files)) {
    writeFileSync(join(root, "bench/plots", name), svg);
  }
}

/** Refuses to measure while other programs use the processors. */
async function requireQuietMachine() {
  const others = new OtherLoad();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const othersShare = others.share() ?? 0;
  if (!isNoisy({ othersShare }) || process.env.COLONNADE_BENCH_NOISY) return;
  throw new Obstacle(
    `other programs use ${Math.round(othersShare * 100)} % of the processors, so results cannot be compared; end them, or set COLONNADE_BENCH_NOISY to run all the same`,
  );
}

async function measure({ workloads, tables, sections }, options) {
  const { isQuick, numRounds, isGuarded, former } = options;
  // For benchmarks that run several times in a round, or take minutes.
  const numFewer = Math.ceil(numRounds * FEWER_SHARE);
  const needsLineitem = sections.length > 0 || tables.some(({ file }) => file !== undefined);
  const lineitem = needsLineitem && !isQuick ? await provideLineitem() : {};
  const files = Object.fromEntries(Object.values(lineitem).map((path) => [basename(path), path]));
  const results = (options.continues && savedProgress()) || {
    numRounds,
    numFewer,
    sessions: [],
    tables: {},
    workloads: {},
  };
  const date = new Date().toISOString().slice(0, 10);
  const machine = describeMachine(peerVersions());
  const session = { date, machine, loadBefore: load(), loadAfter: 0, measured: [] };
  const save = (group, name, measured) => {
    group[name] = measured;
    if (session.measured.length === 0) results.sessions.push(session);
    session.measured.push(name);
    session.loadAfter = load();
    if (options.isWhole) writeFileSync(progressFile(), JSON.stringify(results));
  };
  await inBrowser({ isQuick, files, former }, async (browser, site) => {
    machine.chromium = browser.version();
    for (const table of tables) {
      if (results.tables[table.name]) continue;
      const { numBytes } = table.file
        ? { numBytes: statSync(files[table.file]).size }
        : await site.shapeOf(table.stream);
      const cells = table.check ? await cellsOf(lineitem.arrows) : undefined;
      const measured = await quietly(table.name, () =>
        measureTable(browser, site, table, { numRounds, cells }),
      );
      save(results.tables, table.name, { numBytes, ...measured });
    }
    for (const workload of workloads) {
      if (results.workloads[workload.name]) continue;
      const measured = await quietly(workload.name, () =>
        measureReading(browser, site, workload, numFewer),
      );
      save(results.workloads, workload.name, measured);
    }
  });
  if (isGuarded) await inBrowser({ isQuick: false, files: {} }, guardFloors);
  // The browser is closed first, because the next benchmarks need its memory.
  const measures = {
    browsers: (chromium) => measureBrowsers({ chromium, lineitem, numRounds: numFewer }),
    readers: (_, site) => measureReaders({ site, lineitem, numRounds: numFewer }),
    engines: (_, site) => measureEngines({ site, lineitem, numRounds }),
    spark: (browser, site) => measureSpark({ browser, site, numRounds }),
    statements: () => measureStatements({ numRounds: numFewer }),
    stream: () => measureStream(isQuick, numFewer),
  };
  for (const section of sections) {
    if (results[section]) continue;
    save(results, section, await inBrowser({ isQuick, files }, measures[section]));
  }
  return results;
}

/** The file with the raw results of the last complete or interrupted run. */
function progressFile() {
  mkdirSync(join(cacheDir(), "bench"), { recursive: true });
  return join(cacheDir(), "bench", "results.json");
}

function savedProgress() {
  return existsSync(progressFile()) ? JSON.parse(readFileSync(progressFile(), "utf8")) : undefined;
}

/** Calls `work` with a new browser and site. */
async function inBrowser({ former, ...options }, work) {
  const site = await openSite(options);
  site.former = await former?.openSite(options);
  const { COLONNADE_CHROMIUM: executablePath } = await setUpBrowsers(["Chromium"]);
  const browser = await chromium.launch({
    executablePath,
    args: ["--js-flags=--expose-gc", ...CHROMIUM_ARGUMENTS],
  });
  try {
    return await work(browser, site);
  } finally {
    await browser.close();
    site.close();
    site.former?.close();
  }
}

/** Measures the ordered stream and the Parquet writer with the crate in `src/`. */
function measureStream(isQuick, numRounds) {
  say("the ordered stream");
  const lineitem = join(cacheDir(), "lineitem.parquet");
  const options = [lineitem, String(numRounds), ...(isQuick ? ["--quick"] : [])];
  return String(execFileSync(benchBinary, options, { stdio: ["ignore", "pipe", "inherit"] }));
}

/** The texts of a stream's first and last rows as pyarrow prints them; undefined without pyarrow. */
async function cellsOf(path) {
  const environment = await setUpPython();
  if (environment === undefined) return undefined;
  const program = join(root, "bench/native/cells.py");
  return JSON.parse(String(execFileSync(environment.python, [program, path, "20"])));
}

function peerVersions() {
  const packages = [
    "apache-arrow",
    "@uwdata/flechette",
    "@duckdb/duckdb-wasm",
    "@perspective-dev/client",
    "parquet-wasm",
    "colonnade",
  ];
  return Object.fromEntries(
    packages.map((name) => {
      const path = join(root, "node_modules", name, "package.json");
      return [name, JSON.parse(readFileSync(path, "utf8")).version];
    }),
  );
}

await script(main);
