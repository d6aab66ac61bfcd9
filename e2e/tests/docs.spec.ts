import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { test as base, expect } from "./fixtures.js";
import { hasPython } from "./readers.js";
import { inCheckout, Server } from "./server.js";
import { writeWords } from "./words.js";

// Every example of the pages runs unchanged, except for the server's address. The environment variables
// `ID` and `TOKEN` are set.

const PAGES = ["docs/http.md", "README.md"];
const ADDRESS = /localhost:7878/g;
const TOKEN = "0123456789abcdef0123456789abcdef";

interface Example {
  line: number;
  language: "shell" | "python";
  text: string;
}

/** The examples of a page in order: blocks fenced as `python`, and indented blocks that call curl. */
function examplesOf(page: string): Example[] {
  const blocks = /^```(\w*)\n([\s\S]*?)^```$|((?:^ {4}.*\n(?:\n(?= {4}))?)+)/gm;
  const examples: Example[] = [];
  for (const { index, 1: language, 2: fenced, 3: indented } of page.matchAll(blocks)) {
    const line = page.slice(0, index).split("\n").length;
    if (language === "python") examples.push({ line, language, text: fenced ?? "" });
    const text = indented?.replace(/^ {4}/gm, "") ?? "";
    if (/^(?:\$ )?curl /m.test(text)) examples.push({ line, language: "shell", text });
  }
  return examples;
}

interface Stage {
  folder: string;
  server: Server;
  guarded: Server;
  /** The id that an example sets for later ones. */
  id?: string | undefined;
}

const test = base.extend<{ stage: Stage }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  stage: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "colonnade-"));
    writeWords(join(folder, "trips.arrows"));
    writeFileSync(join(folder, "trips.csv.gz"), gzipSync("from,to\nA,B\n"));
    writeFileSync(join(folder, "token"), TOKEN, { mode: 0o600 });
    const server = await Server.start(["--writable"]);
    const guarded = await Server.start(["--token-file", join(folder, "token")]);
    await use({ folder, server, guarded });
    await Promise.all([server.kill(), guarded.kill()]);
    rmSync(folder, { recursive: true });
  },
});

/** Runs an example; for a status of 400 or more, its exit code is 22, as with `curl --fail`. */
async function run({ language, text }: Example, stage: Stage) {
  const { folder, server, guarded } = stage;
  const { host } = new URL(text.includes("$TOKEN") ? guarded.origin : server.origin);
  const program = text.replace(ADDRESS, host);
  const shell = `set -euo pipefail\ncurl() { command curl -sS --fail-with-body "$@"; }\n${program}`;
  const [command, args] =
    language === "python" ? ["python3", ["-c", program]] : ["bash", ["-c", shell]];
  const packages = process.env.COLONNADE_PYTHON_PACKAGES;
  stage.id = /^ID=(\S+)$/m.exec(program)?.[1] ?? stage.id;
  const env = { ...process.env, PYTHONPATH: packages, TOKEN, ID: stage.id };
  const options = { cwd: folder, env, maxBuffer: 2 ** 26 };
  return promisify(execFile)(command as string, args as string[], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error) => ({ code: error.code as number, stdout: error.stdout, stderr: error.stderr }),
  );
}

/** Expects that an example succeeds, or that it fails with the response that the page shows. */
async function expectWorks(example: Example, stage: Stage): Promise<void> {
  const [, call, shown] = /^\$ (.*\n)([\s\S]*)$/.exec(example.text) ?? [];
  if (call === undefined) {
    const { code, stdout, stderr } = await run(example, stage);
    expect(code, `${stdout}\n${stderr}`).toBe(0);
  } else {
    // Examples that show their response are refused requests.
    const { code, stdout } = await run({ ...example, text: call }, stage);
    expect(code, stdout).toBe(22);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(shown ?? ""));
  }
}

for (const page of PAGES) {
  const text = readFileSync(inCheckout(page), "utf8");
  const examples = examplesOf(text);

  test(`${page}: all examples are found`, () => {
    const count = (text: string) => text.match(/\bcurl -|^import [a-z]/gm)?.length ?? 0;
    const code = text.replace(/`[^`\n]+`/g, "");
    const inExamples = examples.map((example) => count(example.text));
    expect(inExamples.reduce((a, b) => a + b, 0)).toBe(count(code));
    expect(examples.length).toBeGreaterThan(0);
  });

  // In order, because some examples use results of earlier ones.
  test(`${page}: every example works`, async ({ stage }) => {
    for (const example of examples) {
      const wantsPython = example.language === "python" || example.text.includes("python3");
      const [first = ""] = example.text.split("\n");
      if (wantsPython && !hasPython) {
        console.log(`skipped: ${page}:${example.line} ${first}, because pyarrow is not installed`);
        continue;
      }
      await test.step(`${page}:${example.line} ${first}`, () => expectWorks(example, stage));
    }
  });
}

test("web/README.md: the scripts without an element run in Node", async ({ small }) => {
  const page = readFileSync(inCheckout("web/README.md"), "utf8");
  const scripts = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? "");
  const alone = scripts.filter((text) => !text.includes("viewer"));
  expect(alone.length).toBe(3);
  for (const text of alone) {
    const before = /^import /m.test(text)
      ? ""
      : `import { open } from "colonnade";\nconst table = await open("/v1/tables/lineitem/rows");\n`;
    const script = `${before}${text}\ntable.close();`
      .replaceAll('"/v1/', `"${small.origin}/v1/`)
      .replaceAll(" as const", "");
    const args = ["--input-type=module", "--eval", script];
    await promisify(execFile)(process.execPath, args, { cwd: inCheckout("web"), timeout: 60_000 });
  }
});
