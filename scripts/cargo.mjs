// How the tests call cargo: always for the same crates, with the same features of the libraries that they share, so
// that DataFusion and Arrow compile once.

import { availableParallelism } from "node:os";
import { checkFeatures, selected } from "./check-features.mjs";
import { run } from "./run.mjs";

/** The crates that are built and tested together. */
const crates = [
  "colonnade-core",
  "colonnade-reader",
  "colonnade-reader-wasm",
  "colonnade-text",
  "colonnade-wasm",
  "colonnade-server",
  "colonnade-bench",
  "colonnade-bench-native",
];

/**
 * Clippy as the compiler of the workspace's crates, which lints what it builds. `cargo clippy` would compile
 * DataFusion a second time, as metadata only. What is shipped and measured is built without it, because it
 * turns the compiler's own optimisations (MIR) off.
 */
const linted = { RUSTC_WORKSPACE_WRAPPER: "clippy-driver", CLIPPY_ARGS: "-Dwarnings" };

/** Optimising the server's own code takes minutes, and its tests do not gain them. */
const quicklyBuilt = ["--config", "profile.release.package.colonnade-server.opt-level=0"];

function cargo(command, packages, args, env = {}) {
  const options = ["--locked", "--release", ...selected(packages)];
  return run("cargo", [...quicklyBuilt, command, ...options, ...args], {
    env: { ...linted, ...env },
  });
}

/** Builds and lints all targets of all crates. */
export async function buildTests() {
  checkFeatures("colonnade-server", crates);
  await cargo("test", crates, ["--all-targets", "--no-run"]);
  // The tool that writes the module's bindings shares no library with the server.
  await cargo("test", ["xtask"], ["--all-targets", "--no-run"]);
}

/** More than one test a processor, because many wait: for a deadline, for a process, for a slow reader. */
const numTestThreads = 2 * availableParallelism();

/** Runs the tests; `args` select some of them. */
export const runTests = (args = [], env = {}) =>
  cargo("test", crates, args, { RUST_TEST_THREADS: numTestThreads, ...env });

/** Builds the server that the tests of browsers and of Python start: the same program as in the Rust tests. */
export const buildTestedServer = () => cargo("build", crates, ["--bin", "colonnade"]);
