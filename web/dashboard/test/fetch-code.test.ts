import { execFileSync, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import {
  CODE_LANGUAGES,
  type CodeLanguage,
  type CodeOptions,
  codeFor,
} from "../src/files/fetch-code.js";

const plain: CodeOptions = {
  origin: "http://localhost:7878",
  rows: { table: 'it\'s "a"' },
  arrangement: {},
  limit: undefined,
  hasToken: false,
};
const languages = Object.keys(CODE_LANGUAGES) as CodeLanguage[];
const pythons = languages.filter((language) => language !== "curl");
const odd = '\'"\\ $HOME `x` ü\n\t\u2028🙂 "query":"RESULT"';

/** The query bodies in Python code, as Python parses them. */
function asked(code: string): unknown {
  const program = `
import ast, json, sys
calls = [node for node in ast.walk(ast.parse(sys.stdin.read()))
         if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ask"]
def plain(node):
    if isinstance(node, ast.Name): return node.id
    if isinstance(node, ast.Dict): return {plain(k): plain(v) for k, v in zip(node.keys, node.values)}
    return ast.literal_eval(node)
print(json.dumps([plain(call.args[0]) for call in calls]))
`;
  return JSON.parse(String(execFileSync("python3", ["-c", program], { input: code })));
}

/** The query bodies that a shell passes to curl. */
function posted(code: string): unknown[] {
  const fake = `curl() { for word; do if [ "$found" ]; then printf '%s\\0' "$word" >&2; fi; \
if [ "$word" = --data-binary ]; then found=1; else found=; fi; done; \
printf 'x-query-id: the-id\\r\\n'; }\n`;
  const shell = execFileSync("sh", ["-c", `{ ${fake}${code}\n} 2>&1 >/dev/null`]);
  return String(shell)
    .split("\0")
    .filter(Boolean)
    .map((body) => JSON.parse(body));
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) console.log("skipped: the Python code is not checked, because there is no python3");
const withPython = test.skipIf(!hasPython);

withPython.each(pythons)("%s requests a table", (language) => {
  expect(asked(codeFor(language, plain))).toEqual([plain.rows]);
});

const arrangement = {
  columns: ["a", odd],
  filter: {
    and: [
      { op: "eq", column: odd, value: "9007199254740993" },
      { not: { op: "in", column: "b", value: [true, null, 1.5] } },
    ],
  },
  sort: [{ column: odd, descending: true }],
};

withPython.each(pythons)("%s requests filtered and sorted rows of a table", (language) => {
  const code = codeFor(language, { ...plain, arrangement, limit: 10 });
  expect(asked(code)).toEqual([{ ...plain.rows, ...arrangement, limit: 10 }]);
});

withPython.each([
  "select 1",
  "select *\nfrom t\n  where a = 'x'",
  `select "${odd}"`,
  'select """a\n"""',
  'select "a\nb"',
])("a statement is passed unchanged: %j", (sql) => {
  const options = { ...plain, rows: { sql } };
  expect(asked(codeFor("pyarrow", options))).toEqual([{ sql }]);
  expect(posted(codeFor("curl", options))).toEqual([{ sql }]);
});

withPython("filtered and sorted rows of a statement are requested by its result's id", () => {
  const options = { ...plain, rows: { sql: odd }, arrangement, limit: 10 };
  const first = { sql: odd, linger_s: 60 };
  expect(asked(codeFor("pandas", options))).toEqual([
    first,
    { query: "result", ...arrangement, limit: 10 },
  ]);
  expect(posted(codeFor("curl", options))).toEqual([
    first,
    { query: "the-id", ...arrangement, limit: 10 },
  ]);
});

test("curl requests a table", () => {
  expect(posted(codeFor("curl", { ...plain, arrangement }))).toEqual([
    { ...plain.rows, ...arrangement },
  ]);
});

test.each(
  languages,
)("%s reads the token from the environment if the server requires one", (language) => {
  expect(codeFor(language, plain)).not.toContain("COLONNADE_TOKEN");
  const code = codeFor(language, { ...plain, hasToken: true });
  expect(code).toContain("Authorization");
  expect(code).toContain("COLONNADE_TOKEN");
});
