import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessible.js";
import { chooseTable, expect, test } from "./fixtures.js";
import { hasPython, python } from "./readers.js";

/** Code that is appended to a language's code and prints its rows as JSON. */
const PRINT = `
import json
print("ROWS", json.dumps([[None if v is None else str(v) for v in row.values()]
    for row in __TABLE__.to_pylist()]))
`;
const TABLES: Record<string, string> = {
  pandas: "pyarrow.Table.from_pandas(frame, preserve_index=False)",
  Polars: "frame.to_arrow()",
  DuckDB: "rows.to_arrow_table()",
  pyarrow: "table",
};
const MODULES: Record<string, string> = {
  pandas: "pandas",
  Polars: "polars",
  DuckDB: "duckdb",
  pyarrow: "pyarrow",
};

const READ = `
import json, sys
import pyarrow.ipc
table = pyarrow.ipc.open_stream(sys.stdin.buffer).read_all()
print("ROWS", json.dumps([[None if v is None else str(v) for v in row.values()]
    for row in table.to_pylist()]))
`;

type Rows = (string | null)[][];

/** The rows of each `ROWS` line. */
function allRowsIn(printed: Buffer): Rows[] {
  const lines = String(printed).split("\n");
  return lines
    .filter((each) => each.startsWith("ROWS "))
    .map((each) => JSON.parse(each.slice(5)) as Rows);
}

function rowsIn(printed: Buffer): Rows | undefined {
  return allRowsIn(printed)[0];
}

/** Prints those of the modules that are installed, without importing them. */
const INSTALLED = `
import importlib.util, sys
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))
`;

/** The languages whose module Python has. */
function installedLanguages(): string[] {
  const found = String(python(INSTALLED, Object.values(MODULES)))
    .trim()
    .split(" ");
  return Object.keys(MODULES).filter((language) => found.includes(MODULES[language] ?? ""));
}

/** Copies the code of a language for the shown rows; returns the clipboard's text. */
async function copied(page: Page, language: string, limit?: number): Promise<string> {
  await page.getByRole("button", { name: "Copy as code" }).click();
  const dialog = page.getByRole("dialog", { name: "Copy as code" });
  await dialog.getByRole("tab", { name: language }).click();
  await dialog.getByLabel("Row limit").fill(limit === undefined ? "" : String(limit));
  await dialog.getByRole("button", { name: "Copy", exact: true }).click();
  await expect(dialog.getByText("Copied")).toBeVisible();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  await page.keyboard.press("Escape");
  return text;
}

/** Runs programs one after another, each with variables of its own. */
const RUN = `
import json, sys
for program in json.load(sys.stdin):
    exec(compile(program, "copied", "exec"), {"__name__": "__main__"})
`;

/** Runs the code of each language; returns its rows. */
function runPython(codes: Record<string, string>): Rows[] {
  const programs = Object.entries(codes).map(
    ([language, code]) => code + PRINT.replace("__TABLE__", TABLES[language] ?? ""),
  );
  return allRowsIn(python(RUN, [], Buffer.from(JSON.stringify(programs))));
}

function runShell(code: string): Rows | undefined {
  const folder = mkdtempSync(join(tmpdir(), "colonnade-code-"));
  try {
    execFileSync("sh", ["-c", code], { cwd: folder });
    const [file = ""] = readdirSync(folder);
    return rowsIn(
      python(READ.replace("sys.stdin.buffer", 'open(sys.argv[1], "rb")'), [join(folder, file)]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ARRANGED = {
  filter: {
    and: [
      { op: "eq", column: "l_shipmode", value: "AIR" },
      { op: "lt", column: "l_orderkey", value: "2000" },
    ],
  },
  sort: [{ column: "l_extendedprice", descending: true }],
  columns: { shown: ["l_extendedprice", "l_comment", "l_orderkey"] },
};
const STATEMENT =
  "select l_orderkey, l_shipmode, l_extendedprice, l_comment\nfrom lineitem\n" +
  "where l_comment like '%it''s%' or l_orderkey < 2000 order by l_orderkey, l_linenumber";

/** The shown rows, and requests that return the same rows. */
const CASES: {
  name: string;
  sql?: string;
  state?: object;
  limit?: number;
  question: object;
}[] = [
  {
    name: "the first rows of a table",
    limit: 25,
    question: { table: "lineitem", limit: 25 },
  },
  {
    name: "some columns of a table, filtered and sorted",
    state: ARRANGED,
    question: {
      table: "lineitem",
      filter: ARRANGED.filter,
      sort: ARRANGED.sort,
      columns: ARRANGED.columns.shown,
    },
  },
  { name: "a statement", sql: STATEMENT, question: { sql: STATEMENT } },
  {
    name: "a statement's rows, filtered, sorted and cut",
    sql: STATEMENT,
    state: ARRANGED,
    limit: 100,
    question: {
      sql:
        "select l_extendedprice, l_comment, l_orderkey from lineitem " +
        "where l_shipmode = 'AIR' and l_orderkey < 2000 " +
        "order by l_extendedprice desc, l_orderkey, l_linenumber limit 100",
    },
  },
];

async function ask(origin: string, question: object): Promise<Rows | undefined> {
  const response = await fetch(`${origin}/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify(question),
  });
  return rowsIn(python(READ, [], new Uint8Array(await response.arrayBuffer())));
}

test.skip(!hasPython, "pyarrow is not installed");

for (const { name, sql, state, limit, question } of CASES) {
  // The rows that are filtered and sorted stand for the others.
  const tag = state === undefined ? "@full" : [];
  test(`the code for ${name} returns the same rows in every language`, { tag }, async ({
    page,
    small,
  }) => {
    await page.goto(small.origin);
    if (sql === undefined) {
      await chooseTable(page, "lineitem");
    } else {
      await page.getByRole("textbox", { name: "SQL" }).fill(sql);
      await page.getByRole("textbox", { name: "SQL" }).press("Control+Enter");
    }
    await expect(page.getByRole("gridcell").first()).toBeVisible();
    if (state !== undefined) {
      await page.locator("colonnade-viewer").evaluate((viewer, wanted) => {
        (viewer as unknown as { state: object }).state = wanted;
      }, state);
      await expect(page.getByRole("status")).toContainText("sorted by l_extendedprice");
    }
    const expected = await ask(small.origin, question);
    expect(expected?.length).toBeGreaterThan(20);
    const languages = installedLanguages();
    const others = Object.keys(MODULES).filter((each) => !languages.includes(each));
    if (others.length > 0) {
      console.log(`skipped: the code for ${others} is not run, because a module is not installed`);
    }
    const codes: Record<string, string> = {};
    for (const language of languages) codes[language] = await copied(page, language, limit);
    const ran = runPython(codes);
    expect(ran).toHaveLength(languages.length);
    for (const [index, rows] of ran.entries()) {
      const language = languages[index] ?? "";
      expect(rows, `${language}\n${codes[language]}`).toEqual(expected);
    }
    const code = await copied(page, "curl", limit);
    expect(runShell(code), code).toEqual(expected);
  });
}

test("the languages are tabs, and the last used one is remembered", async ({ page, small }) => {
  await page.goto(`${small.origin}/?table=every_type`);
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  const button = page.getByRole("button", { name: "Copy as code" });
  const dialog = page.getByRole("dialog", { name: "Copy as code" });
  await button.press("Enter");
  await expect(dialog.getByRole("button", { name: "Copy", exact: true })).toBeFocused();
  await dialog.getByRole("tab", { name: "pandas" }).press("End");
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("tabpanel")).toContainText("curl --silent");
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(button).toBeFocused();
  await page.reload();
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  await button.click();
  await expect(dialog.getByRole("tab", { name: "curl" })).toHaveAttribute("aria-selected", "true");
});
