// `npm test [-- STAGE…]`: sets up and runs all stages, or the named ones.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testInBrowser } from "./browser.mjs";
import { build } from "./build.mjs";
import { checkFeatures, selected } from "./check-features.mjs";
import { checkImports } from "./check-imports.mjs";
import { checkNames } from "./check-names.mjs";
import { fuzz } from "./fuzz.mjs";
import { checkLicences } from "./licences.mjs";
import { buildPython, pythonFolder, replayDrawn } from "./python.mjs";
import { Obstacle, run, say, sayTimes, script, step } from "./run.mjs";
import { setUpEngines, setUpNode, setUpPython, setUpRustLints } from "./setup.mjs";
import { withSpark } from "./spark.mjs";
import { provideFlights } from "./start.mjs";

/** The crates that are tested together, with the same features of the libraries that they share. */
const crates = [
  "colonnade-core",
  "colonnade-wasm",
  "colonnade-server",
  "colonnade-bench",
  "colonnade-bench-native",
];
/** The crates that need other features of those libraries. */
const otherCrates = ["colonnade-text", "xtask"];
const workspaces = ["colonnade", "@colonnade/dashboard", "@colonnade/e2e", "@colonnade/bench"];

async function format() {
  await setUpRustLints();
  await setUpNode();
  await run("cargo", ["fmt", "--all", "--check"]);
  await run("npx", ["biome", "ci"]);
  checkImports();
  checkNames();
  checkLicences();
}

/**
 * Clippy as the compiler of the workspace's crates, which lints what it builds. `cargo clippy` would compile
 * DataFusion a second time, as metadata only. What is shipped and measured is built without it, because it
 * turns the compiler's own optimisations (MIR) off.
 */
const linted = { RUSTC_WORKSPACE_WRAPPER: "clippy-driver", CLIPPY_ARGS: "-Dwarnings" };

/** Optimising the server's own code for its tests takes minutes, and saves them nothing. */
const quicklyBuilt = ["--config", "profile.release.package.colonnade-server.opt-level=0"];

/** Runs `cargo test` for `packages` together, with further arguments. */
function cargoTest(packages, args = [], env = {}) {
  const options = ["--locked", "--release", ...selected(packages)];
  return run("cargo", [...quicklyBuilt, "test", ...options, ...args], {
    env: { ...linted, ...env },
  });
}

/** Checks what browsers get against the least versions, and lints every crate while its tests are built. */
async function lint() {
  await setUpRustLints();
  // The server embeds the dashboard, so the dashboard is built first.
  await build(["wasm", "web"]);
  await run("npx", ["eslint", "web/dist/**/*.js", "web/dashboard/dist/**/*.js"]);
  await run("npx", ["stylelint", "web/src/**/*.ts", "web/dashboard/src/**/*.{ts,css}"]);
  checkFeatures("colonnade-server", crates);
  for (const packages of [crates, ...otherCrates.map((crate) => [crate])]) {
    await cargoTest(packages, ["--all-targets", "--no-run"]);
  }
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
  await cargoTest(["colonnade-text"]);
  const engines = await setUpEngines();
  const exchanges = join(process.env.TMPDIR, "exchanges.jsonl");
  const seconds = process.env.COLONNADE_FUZZ_SECONDS ?? "60";
  const settings = {
    COLONNADE_EXCHANGES: exchanges,
    COLONNADE_FUZZ_SECONDS: seconds,
    COLONNADE_HOSTILE: hostileStreams(),
  };
  await withSpark((spark) => cargoTest(crates, [], { ...engines, ...spark, ...settings }));
  // In a process of its own, because its packages may not be installed yet when this script starts.
  await run("node", ["scripts/check-openapi.mjs", exchanges]);
}

/** The folder to which the decoder's hostile tests write their streams, for the built module. */
const hostileStreams = () => join(process.env.TMPDIR, "hostile");

async function web() {
  await build(["wasm", "web"]);
  const env = { COLONNADE_HOSTILE: hostileStreams() };
  if (!existsSync(env.COLONNADE_HOSTILE)) {
    await cargoTest(crates, ["--test", "hostile"], env);
  }
  for (const workspace of ["colonnade", "@colonnade/dashboard"]) {
    await run("npm", ["test", "-w", workspace], { env });
  }
}

/** The folder with the streams of random types of the decoder's tests, for pyarrow. */
async function drawnStreams() {
  const folder = join(process.env.TMPDIR, "drawn");
  await cargoTest(crates, ["--test", "drawn_types"], { COLONNADE_DRAWN: folder });
  return folder;
}

async function python() {
  const environment = await setUpPython();
  if (environment === undefined) return;
  await build();
  await replayDrawn(environment.python, await drawnStreams());
  provideFlights();
  await buildPython(environment.python);
  const check = (...args) => run(environment.python, ["-m", ...args], { cwd: pythonFolder });
  await check("ruff", "format", "--check", ".");
  await check("ruff", "check", ".");
  await check("mypy");
  await check("pytest", "-q");
}

/** Checks that the benchmarks run, that all readers read the same, and that no ratio to a floor has doubled. */
async function bench() {
  await run("node", ["bench/bench.mjs", "--quick"]);
}

const stages = {
  format,
  lint,
  types,
  rust,
  fuzz: () => fuzz(60),
  web,
  python,
  e2e: () => testInBrowser(),
  bench,
};

await script(async () => {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !(name in stages));
  if (unknown) {
    throw new Obstacle(
      `there is no stage "${unknown}"; there are ${Object.keys(stages).join(", ")}`,
    );
  }
  // Servers that a test kills leave their temporary folders here.
  const folder = mkdtempSync(join(tmpdir(), "colonnade-test-"));
  process.env.TMPDIR = folder;
  try {
    for (const [name, work] of Object.entries(stages)) {
      if (names.length === 0 || names.includes(name)) await step(name, work);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
    sayTimes();
  }
  say("all passed");
});
