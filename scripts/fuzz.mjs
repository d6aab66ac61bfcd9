// `npm run fuzz [-- --seconds N]`: runs the fuzz targets, each for its share of the time.
// Needs a nightly toolchain; installs cargo-fuzz below `.cache`. With Python, pyarrow reads the drawn streams, too.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { replayDrawn } from "./python.mjs";
import { has, Obstacle, read, root, run, say, script } from "./run.mjs";
import { setUpPython } from "./setup.mjs";

/** The share of the time of each target. */
const targets = { decode_stream: 0.6, drawn_types: 0.2, survey: 0.2 };
const cargoFuzzVersion = "0.13.2";
const maxInputBytes = 32 * 1024;

/** Why fuzzing is not possible here; undefined if it is. */
function missing() {
  if (process.platform === "win32") return "libFuzzer is not set up for Windows here";
  if (!has("cargo", ["+nightly", "--version"])) {
    return "there is no nightly Rust (`rustup toolchain install nightly --profile minimal`)";
  }
  if (!has("c++")) return "there is no C++ compiler (c++), which libFuzzer is built with";
  return undefined;
}

async function setUpCargoFuzz() {
  if (read("cargo", ["fuzz", "--version"])?.includes(cargoFuzzVersion)) return {};
  const folder = join(root, ".cache", "cargo-fuzz");
  if (!existsSync(join(folder, "bin", "cargo-fuzz"))) {
    say(`installing cargo-fuzz ${cargoFuzzVersion}`);
    const options = ["--locked", "--debug", "--version", cargoFuzzVersion, "--root", folder];
    await run("cargo", ["install", "cargo-fuzz", ...options]);
  }
  return { PATH: `${join(folder, "bin")}:${process.env.PATH}` };
}

/** The seeds, from existing streams and files: [name, bytes]. */
function seeds() {
  const folders = ["fixtures", "fixtures/small", "fuzz/finds"].map((name) => join(root, name));
  const conformance = process.env.COLONNADE_CONFORMANCE;
  if (conformance) {
    const arrow = join(conformance, "arrow");
    const gold = join(arrow, "gold");
    folders.push(...["fuzz-stream", "fuzz-file"].map((name) => join(arrow, name)));
    folders.push(...(existsSync(gold) ? readdirSync(gold).map((set) => join(gold, set)) : []));
  }
  return folders.filter(existsSync).flatMap((folder, index) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(json|gz|md|py)$/.test(entry.name))
      .map((entry) => [`${index}-${entry.name}`, readFileSync(join(folder, entry.name))])
      .filter(([, bytes]) => bytes.length <= maxInputBytes),
  );
}

/** Adds the seeds to the corpus of earlier runs. */
function writeCorpus(target) {
  const corpus = join(root, "fuzz", "corpus", target);
  mkdirSync(corpus, { recursive: true });
  // Its inputs are choices, not streams.
  if (target === "drawn_types") return;
  // A decoder's input begins with the seed of its chunks and the length of the first response.
  const head = target === "decode_stream" ? Buffer.from([7, 0, 0]) : Buffer.alloc(0);
  for (const [name, bytes] of seeds()) {
    writeFileSync(join(corpus, name), Buffer.concat([head, bytes]));
  }
}

/** Runs all targets for `seconds` in total, or prints what is missing. */
export async function fuzz(seconds) {
  const obstacle = missing();
  if (obstacle !== undefined) {
    say(`fuzzing is skipped: ${obstacle}`);
    return;
  }
  const env = await setUpCargoFuzz();
  for (const [target, share] of Object.entries(targets)) {
    writeCorpus(target);
    const limits = ["-timeout=60", "-rss_limit_mb=2048", "-malloc_limit_mb=1024"];
    const time = `-max_total_time=${Math.max(1, Math.round(seconds * share))}`;
    const options = [
      `-max_len=${maxInputBytes}`,
      time,
      "-verbosity=0",
      "-print_funcs=0",
      "-print_final_stats=1",
      ...limits,
    ];
    await run("cargo", ["+nightly", "fuzz", "run", target, "--", ...options], { env });
    if (target === "drawn_types") await replayCorpus(env);
  }
}

/** Writes the streams of the corpus of `drawn_types`, and compares them with what pyarrow reads. */
async function replayCorpus(env) {
  const environment = await setUpPython();
  if (environment === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "colonnade-drawn-"));
  try {
    await run(
      "cargo",
      ["+nightly", "fuzz", "run", "drawn_types", "--", "-runs=0", "-verbosity=0"],
      {
        env: { ...env, COLONNADE_DRAWN: folder },
      },
    );
    await replayDrawn(environment.python, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => {
    const [option, value = "60"] = process.argv.slice(2);
    const seconds = Number(value);
    if ((option !== undefined && option !== "--seconds") || !(seconds > 0)) {
      throw new Obstacle("expected `--seconds N`, the time that all targets take together");
    }
    await fuzz(seconds);
  });
}
