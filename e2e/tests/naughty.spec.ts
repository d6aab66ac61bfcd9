// Names and texts that often break programs are shown, found, sorted, filtered, copied, exported and
// inspected unchanged, and are never run as code.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { distinctNames } from "colonnade";
import MarkdownIt from "markdown-it";
import Papa from "papaparse";
import { Site } from "../../scripts/site.mjs";
import { test as base, cell, doubleClick, expect } from "./fixtures.js";
import {
  DOUBLED,
  readTable,
  rowsOf,
  STRINGS,
  TALL,
  type TextTable,
  WIDE,
  writeInvalid,
  writeTable,
} from "./naughty.js";
import { hasPython } from "./readers.js";
import { inCheckout, Server } from "./server.js";

const POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'";
const PAGE = `<!doctype html><title>Names and texts</title>
<link rel="stylesheet" href="/page.css" />
<script type="module" src="/package/define.js"></script>
<colonnade-viewer></colonnade-viewer>`;

/** The parts of the viewer that the tests use in the page. */
interface Element extends HTMLElement {
  source: unknown;
  columns: readonly string[] | null;
  sort: readonly object[];
  filter: object | null;
  selection: object | null;
  table: Rows & { state: string; schema: { fields: { name: string }[] } };
  copy(options: object): Promise<void>;
}

interface Rows {
  numRows: number;
  text(range: object, columns?: readonly string[]): Promise<(string | null)[][]>;
  sort(keys: object[]): Promise<Rows>;
  filter(predicate: object): Promise<Rows>;
  find(text: string, options: object): Promise<{ matches: { row: number; columns: string[] }[] }>;
  summary(column: string): Promise<{ column: string; nulls: number }>;
  values(column: string, range: object): Promise<{ values: unknown }>;
}

interface Stage {
  site: Site;
  server: Server;
}

/** The table as read from CSV, which replaces empty names. */
const AS_CSV: TextTable = {
  names: WIDE.names.map((name, index) => name || `column_${index + 1}`),
  columns: WIDE.columns,
};

/** The table as the server names its columns. */
const TOLD_APART: TextTable = {
  names: distinctNames(DOUBLED.names),
  columns: DOUBLED.columns,
};

/** The sources of the tables with their expected contents. */
const PLACES = [
  { place: "a file", source: "/doubled.arrow", table: DOUBLED },
  { place: "Parquet at the server", source: "/v1/tables/doubled/rows", table: TOLD_APART },
  { place: "CSV at the server", source: "/v1/tables/wide.csv/rows", table: AS_CSV },
];

const test = base.extend<{ trapped: undefined }, { stage: Stage }>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "colonnade-"));
      const tables = join(folder, "tables");
      mkdirSync(tables);
      writeFileSync(join(folder, "index.html"), PAGE);
      writeFileSync(join(folder, "page.css"), "colonnade-viewer { height: 600px }");
      writeTable(join(folder, "doubled.arrow"), DOUBLED);
      writeTable(join(folder, "tall.arrow"), TALL);
      writeTable(join(tables, "doubled.parquet"), DOUBLED);
      writeTable(join(tables, "wide.parquet"), WIDE);
      writeTable(join(tables, "wide.csv"), WIDE);
      writeTable(join(tables, "tall.parquet"), TALL);
      writeInvalid(join(folder, "invalid.arrows"));
      const site = new Site();
      site.folders = { "/": folder, "/package/": inCheckout("web/dist") };
      site.headers = { "content-security-policy": POLICY };
      await site.listen();
      const server = await Server.start([tables, "--allow-origin", site.origin]);
      site.upstream = server.origin;
      await use({ site, server });
      site.close();
      await server.kill();
      rmSync(folder, { recursive: true });
    },
    { scope: "worker" },
  ],
  trapped: [
    async ({ page, stage }, use) => {
      const trapped: string[] = [];
      page.on("dialog", (dialog) => {
        trapped.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on("request", (request) => {
        const url = request.url();
        const isOurs = url.startsWith(stage.site.origin) || url.startsWith("blob:");
        if (!isOurs) trapped.push(`a request: ${url}`);
      });
      await page.exposeFunction("onTrapped", (what: string) => trapped.push(what));
      await page.addInitScript(() => {
        const { onTrapped } = globalThis as unknown as { onTrapped(what: string): void };
        const set = () => onTrapped("window.pwned");
        Object.defineProperty(globalThis, "pwned", { set, get: () => undefined });
        document.addEventListener("securitypolicyviolation", (event) => {
          // Copied HTML has inline styles for spreadsheets; the browser copies them and reports a violation.
          if (event.violatedDirective === "style-src-attr") return;
          onTrapped(`the policy was violated: ${event.violatedDirective} ${event.blockedURI}`);
        });
      });
      await use(undefined);
      expect(trapped).toEqual([]);
    },
    { auto: true },
  ],
});

// One worker writes the tables.
test.describe.configure({ mode: "default" });
test.skip(!hasPython, "pyarrow is not installed");

const viewer = (page: Page) => page.locator("colonnade-viewer");
const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

/** Shows a path of the site: a table of the server by `src`, any other file as a File. */
async function show(page: Page, { site }: Stage, path: string): Promise<void> {
  await page.goto(site.origin);
  await page.waitForFunction(() => customElements.get("colonnade-viewer") !== undefined);
  await viewer(page).evaluate(async (element: Element, source) => {
    if (source.startsWith("/v1/")) element.setAttribute("src", source);
    else element.source = new File([await (await fetch(source)).blob()], source.slice(1));
  }, path);
  await page.waitForFunction(
    () => document.querySelector<Element>("colonnade-viewer")?.table?.state === "complete",
  );
}

/** The distinct names of columns: the second `a` is `a (2)`, or the first free name after it. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let count = 2; seen.has(unique); count++) {
      const next = `${name} (${count})`;
      unique = taken.has(next) && !seen.has(next) ? unique : next;
    }
    seen.add(unique);
    return unique;
  });
}

/** The texts of an HTML table's cells, row by row; parsed in a page without a content security policy. */
async function cellsOf(page: Page, markup: string): Promise<string[][]> {
  const other = await page.context().newPage();
  const cells = await other.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "text/html");
    for (const end of parsed.querySelectorAll("br")) end.replaceWith("\n");
    return [...parsed.querySelectorAll("tr")].map((row) =>
      [...row.cells].map(({ textContent }) => textContent),
    );
  }, markup);
  await other.close();
  return cells;
}

/** The row indexes sorted by UTF-8 bytes, with nulls last and ties in row order. */
function order(column: readonly (string | null)[], isDescending: boolean): number[] {
  const direction = isDescending ? -1 : 1;
  const compare = (a: string | null, b: string | null) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return direction * Buffer.compare(Buffer.from(a), Buffer.from(b));
  };
  return [...column.keys()].sort((a, b) => compare(column[a] ?? null, column[b] ?? null) || a - b);
}

for (const { place, source, table } of PLACES) {
  const rows = rowsOf(table);
  const names = distinct(table.names);

  // The server's Parquet stands for the other sources.
  const tag = place === "Parquet at the server" ? [] : "@full";

  test(`${place}: names and cells are shown unchanged`, { tag }, async ({ page, stage }) => {
    await show(page, stage, source);
    const read = await viewer(page).evaluate(async ({ table }: Element) => ({
      names: table.schema.fields.map(({ name }) => name),
      rows: await table.text({ start: 0, end: 100 }),
    }));
    expect(read.names).toEqual(table.names);
    expect(read.rows).toEqual(rows);
    // Show the columns in groups that fit on the screen.
    const numDrawn = 11;
    for (let start = 0; start < names.length; start += numDrawn) {
      const end = Math.min(start + numDrawn, names.length);
      await viewer(page).evaluate(
        (element: Element, shown) => {
          Object.assign(element, {
            state: {
              columns: { shown, widthsPx: Object.fromEntries(shown.map((name) => [name, 100])) },
            },
          });
        },
        names.slice(start, end),
      );
      const drawn = () =>
        page.getByRole("grid").evaluate((grid) => {
          const texts = (parent: ParentNode, selector: string) =>
            [...parent.querySelectorAll<HTMLElement>(selector)]
              .filter(({ hidden }) => !hidden)
              .sort((a, b) => Number(a.ariaColIndex) - Number(b.ariaColIndex))
              .map((part) => (part.querySelector(".name") ?? part).textContent);
          const cells = Array.from({ length: 5 }, (_, row) => {
            const element = grid.querySelector(`[role=row][aria-rowindex="${row + 2}"]`);
            return element === null ? [] : texts(element, "[role=gridcell]");
          });
          return [texts(grid, "[role=columnheader]"), ...cells];
        });
      const cut = (text: string | null | undefined) => {
        if (text === null || text === undefined) return "null";
        return text.length > 300 ? `${text.slice(0, 300)}…` : text;
      };
      const wanted = [
        table.names.slice(start, end),
        ...rows.map((row) => row.slice(start, end).map(cut)),
      ];
      await expect.poll(drawn).toEqual(wanted);
    }
  });

  test(`${place}: every column can be sorted, filtered and summarised`, { tag }, async ({
    page,
    stage,
  }) => {
    test.setTimeout(240_000);
    await show(page, stage, source);
    const requests = names.map((name, index) => ({
      name,
      text: table.columns[index]?.find((each) => each !== null) ?? "",
    }));
    const answers = await viewer(page).evaluate(async ({ table }: Element, columns) => {
      const answers = [];
      const all = { start: 0, end: 100 };
      for (const { name, text } of columns) {
        const sorted = await table.sort([{ column: name, descending: true }]);
        const filtered = await table.filter({ op: "eq", column: name, value: text });
        const { column, nulls } = await table.summary(name);
        const [sort, filter] = await Promise.all([
          sorted.text(all, [name]),
          filtered.text(all, [name]),
        ]);
        answers.push({
          sort: sort.map(([value]) => value),
          filter: filter.map(([value]) => value),
          column,
          nulls,
        });
      }
      return answers;
    }, requests);
    const wanted = requests.map(({ name, text }, index) => {
      const column = table.columns[index] ?? [];
      return {
        sort: order(column, true).map((row) => column[row]),
        filter: column.filter((each) => each === text),
        column: name,
        nulls: column.filter((each) => each === null).length,
      };
    });
    expect(answers).toEqual(wanted);
  });

  test(`${place}: copies hold every value`, { tag }, async ({ page, stage, browserName }) => {
    await show(page, stage, source);
    await page.getByRole("gridcell").first().click();
    await page.keyboard.press("Control+a");
    const copy = async (options: object) => {
      await viewer(page).evaluate((element: Element, given) => element.copy(given), options);
      return clipboard(page);
    };
    const texts = rows.map((row) => row.map((text) => text ?? ""));
    // Firefox's clipboard drops NUL.
    const inClipboard = (text: string) =>
      browserName === "firefox" ? text.replaceAll("\0", "") : text;
    for (const [format, delimiter] of [
      ["csv", ","],
      ["tsv", "\t"],
    ]) {
      const text = (await copy({ format, header: true })).replace(/\n$/, "");
      const { data, errors } = Papa.parse<string[]>(text, { delimiter, newline: "\n" });
      expect(errors).toEqual([]);
      expect(data).toEqual([table.names, ...texts].map((row) => row.map(inClipboard)));
    }
    // HTML and Markdown have only one kind of line break, and cannot contain NUL.
    const inMarkup = (text: string) => text.replace(/\r\n|\r/g, "\n").replaceAll("\0", "\ufffd");
    const html = await page.evaluate(async () => {
      const [item] = await navigator.clipboard.read();
      return (await item?.getType("text/html"))?.text();
    });
    expect(await cellsOf(page, html ?? "")).toEqual(
      [table.names, ...texts].map((row) => row.map(inMarkup)),
    );
    const markdown = MarkdownIt({ html: true }).render(await copy({ format: "markdown" }));
    expect(await cellsOf(page, markdown)).toEqual(
      [table.names, ...texts].map((row) => row.map((text) => inMarkup(inClipboard(text)))),
    );

    const json = JSON.parse(await copy({ format: "json" })) as Record<string, string | null>[];
    const keys = Object.keys(json[0] ?? {});
    expect(keys).toHaveLength(names.length);
    expect(keys).toEqual(expect.arrayContaining([...new Set(table.names)]));
    const sorted = (values: (string | null)[]) => values.map(String).sort();
    for (const [row, object] of json.entries()) {
      for (const [column, name] of table.names.entries()) {
        if (table.names.indexOf(name) === column) expect(object[name]).toBe(rows[row]?.[column]);
      }
      expect(sorted(Object.values(object))).toEqual(sorted(rows[row] ?? []));
    }
  });
}

for (const source of ["/tall.arrow", "/v1/tables/tall/rows"]) {
  const tag = source.startsWith("/v1/") ? [] : "@full";
  test(`${source}: every text is found in its rows`, { tag }, async ({ page, stage }) => {
    await show(page, stage, source);
    const texts = STRINGS.filter((text) => text !== "" && text.length < 10_000);
    const found = await viewer(page).evaluate(async ({ table }: Element, wanted) => {
      const rows: number[][] = [];
      for (const text of wanted) {
        const options = { matchCase: true, limit: 1000, columns: ["__proto__"] };
        rows.push((await table.find(text, options)).matches.map(({ row }) => row));
      }
      return rows;
    }, texts);
    const column = TALL.columns[0] ?? [];
    const wanted = texts.map((text) =>
      [...column.keys()].filter((row) => column[row]?.includes(text)),
    );
    expect(found).toEqual(wanted);
  });

  test(`${source}: header, menu, find bar and inspector show names and texts unchanged`, {
    tag,
  }, async ({ page, stage }) => {
    await show(page, stage, source);
    const [, , name = ""] = TALL.names;
    const header = page.getByRole("columnheader").nth(2);
    const status = page.getByRole("status");
    await header.click();
    await expect(header).toHaveAttribute("aria-sort", "ascending");
    await expect(status).toContainText(`sorted by ${name}`);
    await header.focus();
    await page.keyboard.press("Alt+ArrowDown");
    await expect(page.getByRole("dialog", { name: `Column ${name}` })).toBeVisible();
    const text = "<script>window.pwned=1</script>";
    await page.getByRole("textbox", { name: "Text" }).fill(text);
    await page.keyboard.press("Enter");
    await expect(status).toContainText(`filtered by ${name}`);
    await expect(page.getByRole("group", { name: "Filters" })).toContainText(`${name} contains`);
    await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "2");
    await expect(cell(page, 0, 3)).toHaveText(text);

    await doubleClick(cell(page, 0, 3));
    const dialog = page.getByRole("dialog");
    await expect(dialog).toHaveAccessibleName(name);
    await expect(dialog.getByRole("region", { name: "Value" })).toHaveText(text);
    await dialog.getByRole("button", { name: "Copy value" }).click();
    await expect(dialog.getByRole("status")).toHaveText("Copied");
    expect(await clipboard(page)).toBe(text);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Remove all" }).click();
    await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", `${STRINGS.length + 1}`);

    await page.getByRole("button", { name: "Find" }).click();
    const input = page.getByLabel("Find in cells and column names");
    for (const wanted of [text, "=cmd|' /C calc'!A0", "{{constructor", "\u202egnp"]) {
      await input.fill(wanted);
      await expect(page.locator(".found")).toContainText(/match \d+ of \d+/);
      await expect(page.locator('[data-mark="current"]')).toContainText(wanted);
    }
  });
}

test("exports hold every name and value", async ({ stage: { server } }) => {
  for (const [name, table] of [
    ["wide.parquet", WIDE],
    ["tall", TALL],
  ] as const) {
    const answer = await fetch(`${server.origin}/v1/tables/${name}/rows?linger_s=60`);
    await answer.arrayBuffer();
    const id = answer.headers.get("x-query-id");
    const exported = async (format: string) => {
      const file = await fetch(`${server.origin}/v1/query/${id}/export?format=${format}`);
      expect(file.status).toBe(200);
      return Buffer.from(await file.arrayBuffer());
    };
    for (const format of ["parquet", "arrow"] as const) {
      expect(readTable(format, await exported(format))).toEqual(table);
    }
    const texts = rowsOf(table).map((row) => row.map((text) => text ?? ""));
    const csv = String(await exported("csv")).replace(/\n$/, "");
    expect(Papa.parse(csv, { delimiter: ",", newline: "\n" }).data).toEqual([
      table.names,
      ...texts,
    ]);
    const lines = String(await exported("ndjson"))
      .split("\n")
      .filter(Boolean);
    const rows = lines.map((line) => JSON.parse(line) as Record<string, string | null>);
    expect(rows.map((row) => table.names.map((each) => row[each]))).toEqual(rowsOf(table));
  }
});

test("a text with a lone surrogate is refused as invalid UTF-8", async ({ page, stage }) => {
  await page.goto(stage.site.origin);
  await page.waitForFunction(() => customElements.get("colonnade-viewer") !== undefined);
  await viewer(page).evaluate(async (element: Element) => {
    element.source = await (await fetch("/invalid.arrows")).blob();
  });
  await expect(page.getByRole("alert")).toContainText(/UTF-8/);
});
