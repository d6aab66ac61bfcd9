// `npm test [-- STAGE…]`: sets up and runs all stages, or the named ones.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testInBrowser } from "./browser.mjs";
import { build } from "./build.mjs";
import { checkImports } from "./check-imports.mjs";
import { checkNames } from "./check-names.mjs";
import { fuzz } from "./fuzz.mjs";
import { checkLicences } from "./licences.mjs";
import { buildPython, pythonFolder } from "./python.mjs";
import { Obstacle, run, say, sayTimes, script, step } from "./run.mjs";
import { setUpEngines, setUpNode, setUpPython, setUpRustLints } from "./setup.mjs";
import { withSpark } from "./spark.mjs";
import { provideFlights } from "./start.mjs";

// Tested one at a time: together, the dev dependencies of one crate would change the features of
// another's libraries, and DataFusion would compile twice.
const crates = [
  "colonnade-core",
  "colonnade-text",
  "colonnade-wasm",
  "colonnade-server",
  "colonnade-bench",
  "colonnade-bench-native",
  "xtask",
];
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

/** Lints every crate while its tests are built. */
async function lint() {
  await setUpRustLints();
  // The server embeds the dashboard, so the dashboard is built first.
  await build(["wasm", "web"]);
  for (const crate of crates) {
    const options = ["--locked", "--release", "--all-targets", "--no-run", "-p", crate];
    await run("cargo", ["test", ...options], { env: linted });
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
  const test = (crate, env) =>
    run("cargo", ["test", "--locked", "--release", "-p", crate], { env: { ...linted, ...env } });
  await test("colonnade-core", { COLONNADE_HOSTILE: hostileStreams() });
  await test("colonnade-text", {});
  const engines = await setUpEngines();
  const exchanges = join(process.env.TMPDIR, "exchanges.jsonl");
  const seconds = process.env.COLONNADE_FUZZ_SECONDS ?? "60";
  const settings = { COLONNADE_EXCHANGES: exchanges, COLONNADE_FUZZ_SECONDS: seconds };
  await withSpark((spark) => test("colonnade-server", { ...engines, ...spark, ...settings }));
  // In a process of its own, because its packages may not be installed yet when this script starts.
  await run("node", ["scripts/check-openapi.mjs", exchanges]);
}

/** The folder to which the decoder's hostile tests write their streams, for the built module. */
const hostileStreams = () => join(process.env.TMPDIR, "hostile");

async function web() {
  await build(["wasm", "web"]);
  const env = { COLONNADE_HOSTILE: hostileStreams() };
  if (!existsSync(env.COLONNADE_HOSTILE)) {
    const hostile = ["-p", "colonnade-core", "--test", "hostile"];
    await run("cargo", ["test", "--locked", "--release", ...hostile], {
      env: { ...linted, ...env },
    });
  }
  for (const workspace of ["colonnade", "@colonnade/dashboard"]) {
    await run("npm", ["test", "-w", workspace], { env });
  }
}

async function python() {
  const environment = await setUpPython();
  if (environment === undefined) return;
  await build();
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
