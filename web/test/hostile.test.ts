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

type Counts = Record<string, number>;

function files(folder: string): string[] {
  const paths = readdirSync(folder).map((name) => join(folder, name));
  return paths.filter((path) => statSync(path).isFile()).sort();
}

/** Runs the cases, each with its name, and counts their outcomes. */
function runAll(kind: string, cases: Iterable<[name: string, bytes: Uint8Array]>): Counts {
  const counts: Counts = {};
  let numCases = 0;
  for (const [name, bytes] of cases) {
    let outcome: string;
    try {
      outcome = decodeAndUse(bytes);
    } catch (cause) {
      throw new Error(`${name} crashes the module`, { cause });
    }
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    numCases += 1;
  }
  console.info(`${numCases} ${kind} in the built module: ${JSON.stringify(counts)}`);
  return counts;
}

/** The outcomes of the native decoder, which `core/tests/hostile` has written. */
function nativeCounts(kind: string): Counts | undefined {
  if (crafted === undefined) return undefined;
  return JSON.parse(readFileSync(join(crafted, `${kind}.json`), "utf8")) as Counts;
}

const small = files(fromRoot("fixtures/small"))
  .filter((path) => path.endsWith(".arrows"))
  .map((path): [string, Uint8Array] => [path, readFileSync(path)]);

test("every flipped bit ends as it does natively", { timeout: TIMEOUT_MS }, () => {
  function* flipped(): Iterable<[string, Uint8Array]> {
    for (const [name, bytes] of small) {
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const copy = Uint8Array.from(bytes);
        copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        yield [`${name} with bit ${bit} flipped`, copy];
      }
    }
  }
  const counts = runAll("flipped bits", flipped());
  expect(counts).toEqual(nativeCounts("flipped bits") ?? counts);
});

test("every cut ends as it does natively", { timeout: TIMEOUT_MS }, () => {
  function* cuts(): Iterable<[string, Uint8Array]> {
    for (const [name, bytes] of small) {
      for (let end = 0; end < bytes.length; end++) {
        yield [`${name} cut at ${end}`, bytes.subarray(0, end)];
      }
    }
  }
  const counts = runAll("cuts", cuts());
  expect(counts).toEqual(nativeCounts("cuts") ?? counts);
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
    const wanted: Counts = {};
    for (const path of streams) {
      const outcome = /([a-z_]+)-\w+\.arrows$/.exec(path)?.[1] ?? "";
      wanted[outcome] = (wanted[outcome] ?? 0) + 1;
    }
    const counts = runAll(
      "crafted streams",
      streams.map((path) => [path, readFileSync(path)]),
    );
    expect(counts).toEqual(wanted);
  },
);

test.runIf(conformance)("inputs that once crashed a reader crash nothing", () => {
  const paths = files(join(conformance ?? "", "arrow/fuzz-stream"));
  runAll(
    "hostile streams",
    paths.map((path) => [path, readFileSync(path)]),
  );
});

/** An input of `fuzz/targets/decode_stream.rs`: a seed, the length of the first response, the bytes. */
function decodeFuzzInput(input: Uint8Array): string {
  const bytes = input.subarray(3);
  const length = (input[1] ?? 0) | ((input[2] ?? 0) << 8);
  if (length === 0 || length >= bytes.length) return decodeAndUse(bytes);
  return decodeAndUse(bytes.subarray(0, length), bytes.subarray(length));
}

const corpus = fromRoot("fuzz/corpus/decode_stream");

test.runIf(existsSync(corpus))(
  "the fuzzer's corpus crashes nothing",
  { timeout: TIMEOUT_MS },
  () => {
    const inputs = files(corpus);
    for (const path of inputs) {
      expect(() => decodeFuzzInput(readFileSync(path)), path).not.toThrow();
    }
    console.info(`${inputs.length} inputs of the fuzzer's corpus in the built module`);
  },
);
