// `npm test [-- STAGE…]`: sets up and runs all stages, or the named ones.

import { mkdtempSync, rmSync } from "node:fs";
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
 * Lints every crate while its tests are built. `cargo clippy` would compile DataFusion a second time, as
 * metadata only; clippy as the workspace's compiler lints what it builds.
 */
async function lint() {
  await setUpRustLints();
  // The server embeds the dashboard, so the dashboard is built first.
  await build(["wasm", "web"]);
  for (const crate of crates) {
    const options = ["--locked", "--release", "--all-targets", "--no-run", "-p", crate];
    await run("cargo", ["test", ...options]);
  }
}

async function types() {
  await build(["wasm", "web"]);
  for (const workspace of workspaces) await run("npm", ["run", "check", "-w", workspace]);
}

async function rust() {
  await build(["wasm", "web"]);
  if (!process.env.COLONNADE_CONFORMANCE) {
    say("COLONNADE_CONFORMANCE is not set: the conformance cases are left out");
  }
  const test = (crate, env) =>
    run("cargo", ["test", "--locked", "--release", "-p", crate], { env });
  await test("colonnade-core", {});
  const engines = await setUpEngines();
  const exchanges = join(process.env.TMPDIR, "exchanges.jsonl");
  await withSpark((spark) =>
    test("colonnade-server", { ...engines, ...spark, COLONNADE_EXCHANGES: exchanges }),
  );
  await run("node", ["scripts/check-openapi.mjs", exchanges]);
}

async function web() {
  await build(["wasm", "web"]);
  for (const workspace of ["colonnade", "@colonnade/dashboard"]) {
    await run("npm", ["test", "-w", workspace]);
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

/** Checks that the benchmarks run and that all readers read the same; ignores the times. */
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
  process.env.RUSTC_WORKSPACE_WRAPPER = "clippy-driver";
  process.env.CLIPPY_ARGS = "-Dwarnings";
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
