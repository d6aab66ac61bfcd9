// `npm test`: what every change must pass. `npm run test:full`: all tests there are. `npm run test:changed`: the
// stages of `npm test` that the changed files can reach. Each takes names of stages; `--list` prints the tiers.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testInBrowser } from "./browser.mjs";
import { build } from "./build.mjs";
import { buildTestedServer, buildTests, runTests } from "./cargo.mjs";
import { changedStages } from "./changed.mjs";
import { checkImports } from "./check-imports.mjs";
import { checkNames } from "./check-names.mjs";
import { checkPaths } from "./check-paths.mjs";
import { fuzz } from "./fuzz.mjs";
import { checkLicences } from "./licences.mjs";
import { buildPython, pythonFolder } from "./python.mjs";
import { Obstacle, run, say, sayTimes, script, step } from "./run.mjs";
import { setUpEngines, setUpNode, setUpPython, setUpRustLints } from "./setup.mjs";
import { withSpark } from "./spark.mjs";
import { provideFlights } from "./start.mjs";
import { TestReport } from "./test-report.mjs";

/**
 * The stages in their order, with what each tier runs of them. The variable COLONNADE_FULL tells the tests the
 * tier: it is set in `npm run test:full`.
 */
const stages = {
  format: [format, "formatting, imports, names, paths, licences", "the same"],
  lint: [lint, "clippy, browser versions; builds everything", "the same"],
  types: [types, "tsc", "the same"],
  rust: [rust, "statements drawn for 10 s; TPC-H at scale 0.01", "60 s; 0.05; a real Spark"],
  web: [web, "every ninth hostile stream", "all of them"],
  python: [python, "ruff, mypy, pytest", "the same"],
  e2e: [testInBrowser, "tests without the tag @full; 18 in Firefox", "all; 12 in WebKitGTK"],
  fuzz: [() => fuzz(600), undefined, "the fuzz targets for 600 s"],
  bench: [bench, undefined, "`npm run bench -- --quick`"],
};

const workspaces = ["colonnade", "@colonnade/dashboard", "@colonnade/e2e", "@colonnade/bench"];

async function format() {
  await setUpRustLints();
  await setUpNode();
  await run("cargo", ["fmt", "--all", "--check"]);
  await run("npx", ["biome", "ci"]);
  checkImports();
  checkNames();
  checkPaths();
  checkLicences();
}

/** Lints every crate while its tests are built. */
async function lint() {
  await setUpRustLints();
  // The server embeds the dashboard, so the dashboard is built first.
  await build(["wasm", "web"]);
  // In a process of its own, because its packages may not be installed yet when this script starts.
  await run("node", ["scripts/check-browsers.mjs"]);
  // Python's packages are downloaded while cargo compiles.
  await Promise.all([buildTests(), setUpPython().then(setUpEngines)]);
}

async function types() {
  await build(["wasm", "web"]);
  for (const workspace of workspaces) await run("npm", ["run", "check", "-w", workspace]);
}

async function rust() {
  await setUpRustLints();
  await build(["wasm", "web"]);
  if (!process.env.COLONNADE_CONFORMANCE) {
    say("COLONNADE_CONFORMANCE is not set: the conformance cases are skipped");
  }
  const exchanges = join(process.env.TMPDIR, "exchanges.jsonl");
  const env = {
    ...(await setUpEngines()),
    COLONNADE_EXCHANGES: exchanges,
    COLONNADE_HOSTILE: hostileStreams(),
  };
  if (process.env.COLONNADE_FULL) await withSpark((spark) => runTests([], { ...env, ...spark }));
  else await runTests([], env);
  // In a process of its own, because its packages may not be installed yet when this script starts.
  await run("node", ["scripts/check-openapi.mjs", exchanges]);
}

/** The folder to which the decoder's hostile tests write their streams, for the built module. */
const hostileStreams = () => join(process.env.TMPDIR, "hostile");

async function web() {
  await build(["wasm", "web"]);
  const env = { COLONNADE_HOSTILE: hostileStreams() };
  if (!existsSync(env.COLONNADE_HOSTILE)) await runTests(["--test", "hostile"], env);
  for (const workspace of ["colonnade", "@colonnade/dashboard"]) {
    await run("npm", ["test", "-w", workspace], { env });
  }
}

async function python() {
  const environment = await setUpPython();
  if (environment === undefined) return;
  await build(["wasm", "web"]);
  await buildTestedServer();
  provideFlights();
  await buildPython(environment.python);
  const check = (...args) => run(environment.python, ["-m", ...args], { cwd: pythonFolder });
  await check("ruff", "format", "--check", ".");
  await check("ruff", "check", ".");
  await check("mypy");
  await check("pytest", "-q", "-n", "2");
}

/** Checks that the benchmarks run, that all readers read the same, and that no ratio to a floor has doubled. */
async function bench() {
  await run("node", ["bench/bench.mjs", "--quick"]);
}

function printTiers() {
  const row = (...cells) => `${cells[0].padEnd(8)}${cells[1].padEnd(52)}${cells[2]}`.trimEnd();
  console.log(row("stage", "npm test", "npm run test:full"));
  for (const [name, [, quick, full]] of Object.entries(stages)) {
    console.log(row(name, quick ?? "—", full));
  }
}

/** The command line: the tier, how stages are selected, and the names of stages. */
function parse(args) {
  const options = { full: false, restart: false, changed: false, since: undefined, names: [] };
  const rest = [...args];
  while (rest.length > 0) {
    const arg = rest.shift();
    if (arg === "--full" || arg === "--restart" || arg === "--changed") {
      options[arg.slice(2)] = true;
    } else if (arg === "--since" && rest.length > 0) options.since = rest.shift();
    else if (arg in stages) options.names.push(arg);
    else {
      throw new Obstacle(
        `"${arg}" is neither a stage (${Object.keys(stages).join(", ")}) nor an option ` +
          "(--full, --restart, --changed, --since COMMIT, --list)",
      );
    }
  }
  return options;
}

/** Runs the stages of a tier, or the named ones, and reports them in `.cache`. */
async function test({ full, restart, changed, since, names }) {
  const tier = Object.keys(stages).filter((name) => full || stages[name][1] !== undefined);
  const selected = changed ? changedStages(tier, since) : names;
  if (changed && selected.length === 0) return say("no changed file can reach a test");
  if (full) process.env.COLONNADE_FULL = "1";
  // The same cases for every change, new ones for every full run.
  process.env.COLONNADE_SEED ??= full ? String(Math.floor(Math.random() * 2 ** 31)) : "1";
  say(`COLONNADE_SEED=${process.env.COLONNADE_SEED}`);
  const isResumed = full && !restart && selected.length === 0;
  const report = new TestReport(full ? "full-test" : "last-test", tier, isResumed);
  // A named stage runs in either tier: `npm test -- fuzz`.
  const wanted = Object.keys(stages).filter((name) =>
    selected.length > 0 ? selected.includes(name) : tier.includes(name),
  );
  // Servers that a test kills leave their temporary folders here.
  const folder = mkdtempSync(join(tmpdir(), "colonnade-test-"));
  process.env.TMPDIR = folder;
  try {
    for (const name of wanted) {
      if (report.has(name)) say(`${name} has passed on this commit`);
      else report.add(name, await step(name, stages[name][0]));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
    sayTimes();
  }
  report.end();
  say("all passed");
}

await script(async () => {
  const args = process.argv.slice(2);
  if (args.includes("--list")) printTiers();
  else await test(parse(args));
});
