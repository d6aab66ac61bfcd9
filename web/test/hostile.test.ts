// The hostile streams of `core/tests/hostile` through the built module, whose integers and pointers have
// 32 bits: no case may trap, and each ends as it does natively.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { decodeAndUse } from "./use-table.js";

const { COLONNADE_CONFORMANCE: conformance, COLONNADE_HOSTILE: crafted } = process.env;
const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const TIMEOUT_MS = 600_000;

// Most cases end with an error, and recording its stack takes several times as long as the case.
Error.stackTraceLimit = 0;

/** Which cases run: each in `npm run test:full`, else every ninth, which flips each of a byte's bits somewhere. */
const STRIDE = process.env.COLONNADE_FULL ? 1 : 9;

function files(folder: string): string[] {
  const paths = readdirSync(folder).map((name) => join(folder, name));
  return paths.filter((path) => statSync(path).isFile()).sort();
}

/** The outcome of a case: an error code, or `table`. */
function run(name: string, bytes: Uint8Array): string {
  try {
    return decodeAndUse(bytes);
  } catch (cause) {
    throw new Error(`${name} crashes the module`, { cause });
  }
}

/** Runs every `STRIDE`th case, and compares its outcome with that of the native decoder, if that is there. */
function compareAll(kind: string, cases: Iterable<[name: string, bytes: () => Uint8Array]>): void {
  const native =
    crafted && (JSON.parse(readFileSync(join(crafted, `${kind}.json`), "utf8")) as string[]);
  const different: string[] = [];
  let numCases = 0;
  let numRun = 0;
  for (const [name, bytes] of cases) {
    const index = numCases++;
    if (index % STRIDE !== 0) continue;
    const outcome = run(name, bytes());
    numRun += 1;
    if (native && outcome !== native[index]) {
      different.push(`${name}: ${outcome}, natively ${native[index]}`);
    }
  }
  console.info(`${numRun} of ${numCases} ${kind} in the built module`);
  expect(different).toEqual([]);
  if (native) expect(native).toHaveLength(numCases);
}

const small = files(fromRoot("fixtures/small"))
  .filter((path) => path.endsWith(".arrows"))
  .map((path): [string, Uint8Array] => [path, readFileSync(path)]);

test("flipped bits end as they do natively", { timeout: TIMEOUT_MS }, () => {
  function* flipped(): Iterable<[string, () => Uint8Array]> {
    for (const [name, bytes] of small) {
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const copy = () => {
          const copy = Uint8Array.from(bytes);
          copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          return copy;
        };
        yield [`${name} with bit ${bit} flipped`, copy];
      }
    }
  }
  compareAll("flipped bits", flipped());
});

test("cuts end as they do natively", { timeout: TIMEOUT_MS }, () => {
  function* cuts(): Iterable<[string, () => Uint8Array]> {
    for (const [name, bytes] of small) {
      for (let end = 0; end < bytes.length; end++) {
        yield [`${name} cut at ${end}`, () => bytes.subarray(0, end)];
      }
    }
  }
  compareAll("cuts", cuts());
});

if (crafted === undefined) {
  console.info("COLONNADE_HOSTILE is not set: the crafted streams are skipped");
}

test.runIf(crafted)(
  "every crafted stream ends as it does natively",
  { timeout: TIMEOUT_MS },
  () => {
    const streams = files(crafted ?? "").filter((path) => path.endsWith(".arrows"));
    expect(streams.length).toBeGreaterThan(50);
    const wanted = streams.map((path) => /([a-z_]+)-\w+\.arrows$/.exec(path)?.[1]);
    expect(streams.map((path) => run(path, readFileSync(path)))).toEqual(wanted);
  },
);

test.runIf(conformance)("inputs that once crashed a reader crash nothing", () => {
  const paths = files(join(conformance ?? "", "arrow/fuzz-stream"));
  for (const path of paths) run(path, readFileSync(path));
  console.info(`${paths.length} hostile streams in the built module`);
});

/** An input of `core/tests/fuzz/decode_stream.rs`: a seed, the length of the first response, the bytes. */
function decodeFuzzInput(input: Uint8Array): string {
  const bytes = input.subarray(3);
  const length = (input[1] ?? 0) | ((input[2] ?? 0) << 8);
  if (length === 0 || length >= bytes.length) return decodeAndUse(bytes);
  return decodeAndUse(bytes.subarray(0, length), bytes.subarray(length));
}

/** The committed inputs, and those that the fuzzer has found here. */
const corpora = ["fuzz/seeds/decode_stream", "fuzz/corpus/decode_stream"].map(fromRoot);

test("the fuzzer's inputs crash nothing", { timeout: TIMEOUT_MS }, () => {
  const inputs = corpora.filter(existsSync).flatMap(files);
  for (const path of inputs) {
    expect(() => decodeFuzzInput(readFileSync(path)), path).not.toThrow();
  }
  console.info(`${inputs.length} inputs of the fuzzer in the built module`);
});
