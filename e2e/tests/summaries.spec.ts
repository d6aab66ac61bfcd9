import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessible.js";
import { cell, expect, SMALL_COMPLETE, SMALL_ROWS } from "./fixtures.js";
import { testOn } from "./other-origin.js";
import type { PageServer } from "./package.js";
import { CuttingProxy, gate } from "./proxy.js";
import { demoFile, type Server } from "./server.js";

const PAGE = `<!doctype html><html lang="en"><title>Summaries</title>
<style>body { margin: 0 } colonnade-viewer { height: 100vh }</style>
<script type="module">
import { open } from "/index.js";
import "/define.js";
window.openTable = open;
const viewer = document.createElement("colonnade-viewer");
for (const [name, value] of new URLSearchParams(location.search)) viewer.setAttribute(name, value);
window.seen = [];
document.querySelector("main").append(viewer);
new MutationObserver(() => {
  const description = viewer.shadowRoot.querySelector("[role=columnheader]")?.ariaDescription;
  const rows = /first ([\\d,]+) rows/.exec(description ?? "")?.[1]?.replaceAll(",", "");
  if (rows !== undefined && seen.at(-1) !== Number(rows)) seen.push(Number(rows));
}).observe(viewer.shadowRoot, { attributeFilter: ["aria-description"], subtree: true });
</script><main></main>`;

declare global {
  /** The numbers of rows in the summaries that were shown while rows arrived. */
  var seen: number[];
}

const test = testOn(PAGE).extend({ server: async ({ small }, use) => use(small) });

interface Context {
  page: Page;
  pages: PageServer;
  server: Server;
}

const LINEITEM_ROWS = 6_001_215;
const SUMMARISED = { timeout: 60_000 };
const status = (page: Page) => page.getByRole("status");
const header = (page: Page, name: string) =>
  page.getByRole("columnheader", { name: new RegExp(`^${name}\\b`) });
const plot = (page: Page, name: string) =>
  page.getByRole("slider", { name: new RegExp(` of ${name}$`) });
/** The description of each column header, by column index. */
const said = (page: Page) =>
  page
    .getByRole("columnheader")
    .evaluateAll((all) =>
      Object.fromEntries(all.map((each) => [each.ariaColIndex, each.ariaDescription])),
    );
const filterOf = (page: Page) =>
  page.locator("colonnade-viewer").evaluate((viewer) => {
    return (viewer as unknown as { filter: { and: { op: string; value: string }[] } }).filter;
  });

async function show(
  { page, pages, server, origin = server.origin }: Context & { origin?: string },
  path: string,
  attributes: Record<string, string> = {},
): Promise<void> {
  const query = new URLSearchParams({ src: `${origin}${path}`, ...attributes });
  await page.goto(`${pages.origin}/?${query}`);
}

/** Waits until each column of `every_type` is summarised. */
async function expectSummaries(page: Page): Promise<void> {
  const numDone = async () => {
    const texts = Object.values(await said(page));
    return texts.every((text) => /24 rows$/.test(`${text}`)) ? texts.length : 0;
  };
  await expect.poll(numDone).toBeGreaterThan(50);
}

/** The first row of a statement's result. */
function answered({ page, server }: Context, sql: string): Promise<(string | null)[]> {
  return page.evaluate(
    async ({ address, json }) => {
      const request = new Request(address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: json,
      });
      const table = await globalThis.openTable(request as unknown as string);
      await table.done;
      return (await table.text({ start: 0, end: 1 }))[0] ?? [];
    },
    { address: `${server.origin}/v1/query`, json: JSON.stringify({ sql }) },
  );
}

const counted = (count: unknown) => Number(count).toLocaleString("en");

/** Drags over a plot; `from` and `to` are fractions of its width. */
async function brush(page: Page, name: string, from: number, to: number): Promise<void> {
  const box = await plot(page, name).boundingBox();
  if (box === null) throw new Error(`there is no plot of ${name}`);
  await page.mouse.move(box.x + from * box.width, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + to * box.width, box.y + 12, { steps: 4 });
  await page.mouse.up();
}

for (const { size, tag } of [
  { size: "small", tag: [] },
  { size: "demo", tag: "@full" },
] as { size: string; tag: string | string[] }[]) {
  test(`summaries appear while rows arrive, and finally equal SQL results (${size})`, {
    tag,
  }, async ({ page, pages, demo, small }) => {
    const numRows = size === "demo" ? LINEITEM_ROWS : SMALL_ROWS;
    const server = size === "demo" ? demo : small;
    const { opened, open } = gate();
    const proxy = await CuttingProxy.start(server.origin);
    // All of these columns have more than 5 MB.
    proxy.cuts = [{ at: 3_000_000, by: "hold", meanwhile: () => opened }];
    const context = { page, pages, server };
    const columns = "l_orderkey,l_quantity,l_shipdate,l_shipmode,l_comment";
    const path = `/v1/tables/lineitem/rows?columns=${columns}`;
    await show({ ...context, origin: proxy.origin }, path);
    await expect.poll(() => page.evaluate(() => globalThis.seen.length)).toBeGreaterThan(0);
    open();
    const done = new RegExp(`${counted(numRows)} rows$`);
    for (const name of columns.split(",")) {
      await expect(header(page, name)).toHaveAttribute("aria-description", done, SUMMARISED);
    }
    const seen = await page.evaluate(() => globalThis.seen);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBeLessThan(numRows);

    const [least, most, first, last, differing, air] = await answered(
      context,
      `select min(l_quantity) a, max(l_quantity) b, min(l_shipdate) c, max(l_shipdate) d,
            count(distinct l_quantity) e, sum(case when l_shipmode = 'AIR' then 1 end) f
     from lineitem`,
    );
    const quartiles = await answered(
      context,
      `select min(case when 4 * n >= t then q end) a, min(case when 2 * n >= t then q end) b,
            min(case when 4 * n >= 3 * t then q end) c
     from (select l_quantity q, row_number() over (order by l_quantity) n, count(*) over () t from lineitem)`,
    );
    const range = `${least} to ${most}, quartiles ${quartiles.join(", ")}, mean`;
    await expect(header(page, "l_quantity")).toHaveAttribute(
      "aria-description",
      new RegExp(`^${range}.*≈ ${differing} distinct, no nulls`),
    );
    await expect(header(page, "l_shipdate")).toContainText(`${first}${last}`);
    const modes = plot(page, "l_shipmode");
    await expect(header(page, "l_shipmode")).toContainText("7distinct");
    await expect(header(page, "l_shipmode")).toHaveAttribute(
      "aria-description",
      /, lengths 3 to 7, median 4, 7 distinct, no nulls, /,
    );
    await modes.hover();
    // The column has too many distinct texts for a list of the most frequent ones.
    await expect(plot(page, "l_comment")).toHaveCount(0);
    await expect(header(page, "l_comment")).toContainText(
      size === "demo" ? /≈ 4\.\d+Mdistinct/ : /≈ \d\d,\d{3}distinct/,
    );

    await header(page, "l_shipmode").focus();
    await page.keyboard.press("F2");
    await expect(modes).toBeFocused();
    for (let bin = 0; bin < 7; bin++) {
      if (await modes.evaluate((element) => element.ariaValueText?.startsWith("AIR:"))) break;
      await page.keyboard.press("ArrowRight");
    }
    await expect(modes).toHaveAttribute("aria-valuetext", `AIR: ${counted(air)} rows (14 %)`);
    await expect(page.locator(".readout")).toContainText(`${counted(air)} rows (14 %)`);
    await page.keyboard.press("Enter");
    await expect(status(page)).toContainText(`Complete: ${counted(air)} rows`);
    expect(await filterOf(page)).toEqual({ op: "eq", column: "l_shipmode", value: "AIR" });
    // The other columns also show the filtered rows in front of all rows.
    const shown = new RegExp(`${counted(air)} rows shown$`);
    await expect(header(page, "l_quantity")).toHaveAttribute("aria-description", shown, SUMMARISED);
    const [below, belowByAir] = await answered(
      context,
      `select count(*) a, sum(case when l_shipmode = 'AIR' then 1 end) b from lineitem
     where l_quantity < 2.54`,
    );
    await plot(page, "l_quantity").hover({ position: { x: 1, y: 10 } });
    await expect(page.locator(".readout")).toContainText(
      `${counted(belowByAir)} of ${counted(below)} rows`,
    );
    await expectAccessible(page, (axe) => axe.disableRules("page-has-heading-one"));
    await page.keyboard.press("Escape");
    await expect(status(page)).toContainText(`${counted(numRows)} rows`);
    await expect(modes).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(header(page, "l_shipmode")).toBeFocused();
    await proxy.close();
  });
}

test("a range is brushed by mouse and by keyboard, and filters exactly its rows", async ({
  page,
  pages,
  server,
}) => {
  const context = { page, pages, server };
  await show(context, "/v1/tables/flights/rows");
  await expect(status(page)).toContainText(SMALL_COMPLETE, SUMMARISED);
  await expect(plot(page, "distance")).toBeVisible(SUMMARISED);
  for (const [name, from, to] of [
    ["distance", 0.3, 0.7],
    ["date", 0.5, 0.99],
  ] as const) {
    await expect(header(page, name)).toHaveAttribute("aria-description", /100,000 rows$/);
    await brush(page, name, from, to);
    await expect(status(page)).toContainText(`filtered by ${name}`);
    const [least, greatest] = (await filterOf(page)).and;
    const sign = greatest?.op === "le" ? "<=" : "<";
    const where = `"${name}" >= '${least?.value}' and "${name}" ${sign} '${greatest?.value}'`;
    const [a] = await answered(context, `select count(*) a from flights where ${where}`);
    await expect(status(page)).toContainText(`Complete: ${counted(a)} rows`);
    expect(Number(a)).toBeGreaterThan(0);
    await brush(page, name, from, to);
    await expect(status(page)).toContainText("100,000 rows");
    await expect(status(page)).not.toContainText("filtered");
  }
  // The header still sorts, and the summary stays.
  await header(page, "delay").click();
  await expect(header(page, "delay")).toHaveAttribute("aria-sort", "ascending");
  await page.keyboard.press("F2");
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Shift+ArrowRight");
  const text = await plot(page, "delay").getAttribute("aria-valuetext");
  await page.keyboard.press("Enter");
  await expect(status(page)).toContainText("filtered by delay");
  const rows = /: ([\d,]+) rows/.exec(text ?? "")?.[1];
  await expect(status(page)).toContainText(`Complete: ${rows} rows`);
  await page.keyboard.press("ArrowDown");
  await expect(cell(page, 0, 2)).toBeFocused();
});

test("every type has a summary or none, and the last bar of every fifth plot filters its rows", async ({
  page,
  pages,
  server,
}) => {
  const context = { page, pages, server };
  await page.setViewportSize({ width: 12_000, height: 600 });
  await show(context, "/v1/tables/every_type/rows");
  await expect(status(page)).toContainText("Complete: 24 rows");
  await expectSummaries(page);
  const sliders = page.locator(".plot.choosable:visible");
  const numSliders = await sliders.count();
  expect(numSliders).toBeGreaterThan(30);
  for (let index = 0; index < numSliders; index += 5) {
    const slider = sliders.nth(index);
    const name = await slider.getAttribute("aria-label");
    await slider.evaluate((element) => element.closest<HTMLElement>(".header-cell")?.focus());
    await page.keyboard.press("F2");
    await page.keyboard.press("End");
    const rows = /: (\d+) rows?/.exec((await slider.getAttribute("aria-valuetext")) ?? "")?.[1];
    await page.keyboard.press("Enter");
    const word = rows === "1" ? "row" : "rows";
    await expect(status(page), name ?? "").toContainText(`Complete: ${rows} ${word}`);
    await page.keyboard.press("Escape");
    await expect(status(page)).toContainText("Complete: 24 rows");
  }
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("the server summarises and filters a table larger than memory", async ({
  page,
  pages,
  server,
}) => {
  const context = { page, pages, server };
  const columns = "l_orderkey,l_quantity,l_shipdate,l_returnflag";
  const path = `/v1/tables/lineitem/rows?columns=${columns}`;
  await show(context, path, { memory: "1MiB" });
  await expect(status(page)).toContainText("Windowed", SUMMARISED);
  for (const name of columns.split(",")) {
    const done = /100,000 rows$/;
    await expect(header(page, name)).toHaveAttribute("aria-description", done, SUMMARISED);
  }
  await brush(page, "l_quantity", 0.5, 0.99);
  await expect(status(page)).toContainText("filtered by l_quantity", SUMMARISED);
  const [least, greatest] = (await filterOf(page)).and;
  expect(greatest).toEqual({ op: "le", column: "l_quantity", value: "50.00" });
  const sql = `select count(*) a from lineitem where l_quantity >= ${least?.value}`;
  const [a] = await answered(context, sql);
  const done = new RegExp(`${counted(a)} rows$`);
  await expect(header(page, "l_quantity")).toHaveAttribute("aria-description", done, SUMMARISED);
});

test("summaries can be hidden, and are hidden on a narrow page", async ({
  page,
  pages,
  server,
}) => {
  const context = { page, pages, server };
  await show(context, "/v1/tables/flights/rows?limit=1000");
  await expect(plot(page, "delay")).toBeVisible();
  const heightPx = async () => (await header(page, "delay").boundingBox())?.height;
  const tallPx = (await heightPx()) ?? 0;
  const getState = () =>
    page.locator("colonnade-viewer").evaluate((viewer) => {
      return (viewer as unknown as { state: { summaries: boolean } }).state.summaries;
    });
  expect(await getState()).toBe(true);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByLabel("Column summaries").uncheck();
  await page.keyboard.press("Escape");
  await expect(plot(page, "delay")).toBeHidden();
  expect(await heightPx()).toBeLessThan(tallPx);
  expect(await getState()).toBe(false);
  await page.getByLabel("Go to row").fill("1000");
  await page.getByLabel("Go to row").press("Enter");
  await expect(cell(page, 999, 1)).toBeVisible();
  await page.locator("colonnade-viewer").evaluate((viewer) => {
    Object.assign(viewer, { state: { summaries: true } });
  });
  await expect(plot(page, "delay")).toBeVisible();
  await page.getByRole("grid").focus();
  await page.keyboard.press("Control+End");
  const last = await cell(page, 999, 1).boundingBox();
  const bar = await page.locator(".toolbar").boundingBox();
  expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual((bar?.y ?? 0) + 1);

  await page.setViewportSize({ width: 400, height: 700 });
  await show(context, "/v1/tables/flights/rows?limit=1000");
  await expect(cell(page, 0, 1)).toBeVisible();
  await expect(plot(page, "date")).toBeHidden();
  expect(await getState()).toBe(false);
});

test("a local file has the same summaries as the server's table", async ({
  page,
  pages,
  server,
}) => {
  const context = { page, pages, server };
  await page.setViewportSize({ width: 12_000, height: 600 });
  const { readFileSync } = await import("node:fs");
  const bytes = readFileSync(demoFile("every_type.arrow")).toString("base64");
  await page.goto(pages.origin);
  await page.locator("colonnade-viewer").evaluate((viewer, base64) => {
    const source = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    Object.assign(viewer, { source: new Blob([source]) });
  }, bytes);
  await expectSummaries(page);
  const ofFile = await said(page);
  await show(context, "/v1/tables/every_type/rows");
  await expect.poll(() => said(page)).toMatchObject(ofFile);
});
