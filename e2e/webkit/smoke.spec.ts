// What a visitor does first, in WebKitGTK.

import { Site } from "../../scripts/site.mjs";
import { test as base, expect, SMALL_COMPLETE, SMALL_ROWS } from "../tests/fixtures.js";
import { CuttingProxy } from "../tests/proxy.js";
import { inCheckout, type Server } from "../tests/server.js";
import { Browser } from "./browser.js";
import type { WebKitPage } from "./page.js";

const test = base.extend<{ webkit: WebKitPage }, { browserOfTests: Browser }>({
  browserOfTests: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const browser = await Browser.start();
      await use(browser);
      await browser.close();
    },
    { scope: "worker" },
  ],
  webkit: async ({ browserOfTests: { page } }, use, testInfo) => {
    await use(page);
    if (testInfo.status !== testInfo.expectedStatus) {
      await testInfo.attach("page", { body: await page.screenshot(), contentType: "image/png" });
    }
    expect(await page.errors()).toEqual([]);
  },
  // The page of Playwright is not used.
  // biome-ignore lint/correctness/noEmptyPattern: as above
  failOnErrors: async ({}, use) => use(undefined),
});

const status = (page: WebKitPage) => page.getByRole("status");
const header = (page: WebKitPage, name: string) =>
  page.getByRole("columnheader", new RegExp(`^${name}\\b`));

/** Opens a table from the dashboard's list. */
async function openTable(page: WebKitPage, server: Server, name: string): Promise<void> {
  await page.goto(server.origin);
  await page.getByRole("link", new RegExp(`^${name}\\b`)).click();
}

async function openSmall(page: WebKitPage, server: Server, name: string): Promise<void> {
  await openTable(page, server, name);
  await expect.poll(() => status(page).text()).toContain(SMALL_COMPLETE);
}

async function goToRow(page: WebKitPage, row: number): Promise<void> {
  await page.getByLabel("Go to row").fill(String(row));
  await page.press("Enter");
}

test("six million rows arrive, to the last one", async ({ webkit, demo }) => {
  await openTable(webkit, demo, "lineitem");
  await expect.poll(() => webkit.cell(0, 1).text()).toBe("1");
  await expect.poll(() => status(webkit).text()).toContain("Complete: 6,001,215 rows");
  await goToRow(webkit, 6_001_215);
  await expect.poll(() => webkit.cell(6_001_214, 1).text()).toBe("6000000");
});

test("a wheel scrolls the rows", async ({ webkit, small }) => {
  await openSmall(webkit, small, "lineitem");
  await webkit.cell(5, 2).wheel(3000);
  const [row] = await small.answer("select l_partkey from lineitem limit 1 offset 105");
  await expect.poll(() => webkit.cell(105, 2).text()).toBe(String(row?.[0]));
});

test("a click sorts by a column, and a second one turns the order", async ({ webkit, small }) => {
  await openSmall(webkit, small, "flights");
  const delay = header(webkit, "delay");
  await delay.click();
  await expect.poll(() => delay.attribute("aria-sort")).toBe("ascending");
  await delay.click();
  await expect.poll(() => delay.attribute("aria-sort")).toBe("descending");
  const [[most] = []] = await small.answer("select max(delay) from flights");
  await expect.poll(() => webkit.cell(0, 2).text()).toBe(String(most));
});

test("a filter of the column's menu is applied and removed", async ({ webkit, small }) => {
  await openSmall(webkit, small, "flights");
  await header(webkit, "origin").focus();
  await webkit.press("Alt+ArrowDown");
  await webkit.getByRole("textbox", "Text").fill("HN");
  await webkit.getByRole("button", "Apply filter").click();
  const [[numRows] = []] = await small.answer(
    "select count(*) from flights where origin like '%HN%'",
  );
  await expect.poll(() => status(webkit).text()).toContain(`${numRows} rows`);
  await webkit.getByRole("button", "Remove filter: origin").click();
  await expect.poll(() => status(webkit).text()).toContain(SMALL_COMPLETE);
});

test("a text is found", async ({ webkit, small }) => {
  await openSmall(webkit, small, "lineitem");
  await webkit.getByRole("button", "Find").click();
  await webkit.getByLabel("Find in cells and column names").fill("truck");
  await webkit.press("Enter");
  await expect.poll(() => webkit.locator("css=[data-mark=current]").text()).toMatch(/truck/i);
});

test("selected cells are copied", async ({ webkit, browserOfTests, small }) => {
  await openSmall(webkit, small, "lineitem");
  await webkit.cell(0, 1).click();
  await webkit.cell(1, 2).click("Shift");
  await webkit.press("Control+c");
  await expect
    .poll(() => webkit.locator("css=[part=selection]").text())
    .toContain("Copied 4 cells");
  const rows = await small.answer("select l_orderkey, l_partkey from lineitem limit 2");
  expect(browserOfTests.clipboard()).toBe(rows.map((row) => `${row.join("\t")}\n`).join(""));
});

test("a statement runs, and a larger result is complete", async ({ webkit, demo }) => {
  await webkit.goto(demo.origin);
  const run = async (sql: string) => {
    await webkit.getByRole("textbox", "SQL").fill(sql);
    await webkit.press("Control+Enter");
  };
  await run("select l_returnflag, count(*) as n from lineitem group by 1 order by 1");
  await expect.poll(() => webkit.cell(0, 2).text()).toBe("1478493");
  await run("select l_orderkey, l_comment from lineitem where l_linenumber < 4");
  await expect.poll(() => status(webkit).text()).toContain("Complete: 3,857,");
});

test("a chart counts the rows", async ({ webkit, small }) => {
  await openSmall(webkit, small, "flights");
  await webkit.getByRole("button", /^Chart$/).click();
  await webkit.getByRole("application", "Rows by").waitFor();
});

test("the shown rows are exported", async ({ webkit, browserOfTests, small }) => {
  await openSmall(webkit, small, "lineitem");
  await webkit.getByRole("button", "Export").click();
  await webkit.getByRole("button", /^CSV Text/).click();
  const numLines = () => browserOfTests.downloads()["lineitem.csv"]?.split("\n").length;
  await expect.poll(numLines).toBe(SMALL_ROWS + 2);
});

test.describe("the element", () => {
  const PAGE = `<!doctype html><title>Viewers</title>
    <style>colonnade-viewer { height: 300px }</style>
    <script type="module" src="/package/define.js"></script>`;

  /** A page with a viewer for each of the tables, from the server's own origin. */
  async function show(page: WebKitPage, origin: string, html: string): Promise<Site> {
    const site = new Site();
    site.pages = { "/": PAGE + html };
    site.folders = { "/package": inCheckout("web/dist") };
    site.upstream = origin;
    await site.listen();
    await page.goto(site.origin);
    return site;
  }

  const tables = (page: WebKitPage) =>
    page.evaluate(() =>
      [...document.querySelectorAll("colonnade-viewer")].map((viewer) => {
        const { table } = viewer as unknown as { table?: { state: string; numRows: number } };
        return `${table?.state} ${table?.numRows}`;
      }),
    );

  const viewer = (attributes: string) =>
    `<colonnade-viewer src="/v1/tables/lineitem/rows" ${attributes}></colonnade-viewer>`;

  test("a table that exceeds its memory is windowed", async ({ webkit, demo }) => {
    const site = await show(webkit, demo.origin, viewer('memory="64MiB"'));
    await expect.poll(() => tables(webkit)).toEqual(["windowed 6001215"]);
    await goToRow(webkit, 6_001_215);
    await expect.poll(() => webkit.cell(6_001_214, 1).text()).toBe("6000000");
    site.close();
  });

  test("a cut connection is resumed", async ({ webkit, demo }) => {
    const proxy = await CuttingProxy.start(demo.origin);
    const cuts = [3_000_000, 40_000_000, 90_000_000];
    proxy.cuts = cuts.map((at, k) => ({ at, by: k % 2 === 0 ? "reset" : "fin" }));
    const site = await show(webkit, proxy.origin, viewer(""));
    await expect.poll(() => tables(webkit), { timeout: 60_000 }).toEqual(["complete 6001215"]);
    expect(proxy.cuts).toEqual([]);
    site.close();
    await proxy.close();
  });

  test("twelve viewers all get their rows", async ({ webkit, small }) => {
    const site = await show(webkit, small.origin, viewer("").repeat(12));
    const all = Array.from({ length: 12 }, () => `complete ${SMALL_ROWS}`);
    await expect.poll(() => tables(webkit)).toEqual(all);
    site.close();
  });
});
