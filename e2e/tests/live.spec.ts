// The list of queries, a server that stops and restarts, keyboard shortcuts, printing, and the time to
// the first rows.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import type { ColonnadeViewer } from "colonnade";
import { expectAccessible } from "./accessible.js";
import {
  cell,
  chromiumOnly,
  doubleClick,
  expect,
  goToRow,
  openStartPage,
  SMALL_COMPLETE,
  SMALL_ROWS,
  test,
  textOf,
} from "./fixtures.js";
import { CuttingProxy, gate } from "./proxy.js";
import { Server, smallFile } from "./server.js";

const LINEITEM = "/v1/tables/lineitem/rows";

/** Makes clocks and timers in the page's workers ten times as fast; Playwright cannot control them. */
async function hasten(page: Page): Promise<void> {
  const clock = `{
    const [now, wait] = [performance.now.bind(performance), setTimeout];
    performance.now = () => 10 * now();
    self.setTimeout = (work, ms, ...rest) => wait(work, ms / 10, ...rest);
  }`;
  await page.route("**/assets/worker-*.js", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: `${clock}\n${await response.text()}` });
  });
}

/** Opens the list of queries. */
async function openQueries(page: Page): Promise<Locator> {
  await page.getByRole("button", { name: "Queries" }).click();
  return page.getByRole("dialog", { name: "Queries" });
}

/** Starts a query like another program, and reads no rows until it is aborted. */
async function stall(server: Server, path: string) {
  const controller = new AbortController();
  const response = await fetch(`${server.origin}${path}`, { signal: controller.signal });
  // The caller holds the response, because Node cancels the body of one that is collected as garbage.
  return { response, abort: () => controller.abort() };
}

test.describe("queries", () => {
  let server: Server;
  test.beforeEach(async () => {
    server = await Server.start();
  });
  test.afterEach(() => server.kill());

  test("are listed with their details and can be cancelled and deleted", async ({ page }) => {
    await openStartPage(page, server.origin);
    const dialog = await openQueries(page);
    await expect(dialog).toContainText("No running queries or stored results");
    await expectAccessible(page);

    const others = [
      await stall(server, `${LINEITEM}?sort=-l_extendedprice`),
      await stall(server, `${LINEITEM}?filter=l_quantity%3E10&columns=l_orderkey,l_quantity`),
    ];
    const items = dialog.getByRole("listitem");
    await expect(items).toHaveCount(2);
    await expect(items.nth(0)).toContainText("lineitem · 2 columns · filtered");
    await expect(items.nth(1)).toContainText("lineitem · sorted by l_extendedprice ↓");
    for (const item of await items.all()) {
      await expect(item).toContainText("Running");
      await expect(item).toContainText(/[\d,]+ (?:of [\d,]+ )?rows/);
      await expect(item).toContainText(/[\d.]+ [kM]B sent/);
      await expect(item).toContainText("order");
      await expect(item.getByRole("progressbar")).toBeVisible();
    }
    await expectAccessible(page);

    await items
      .nth(0)
      .getByRole("button", { name: /^Cancel/ })
      .click();
    await expect(items).toHaveCount(1);
    expect(await server.queries()).toHaveLength(1);
    for (const other of others) other.abort();
    await expect(items.nth(0)).toContainText("Cancelled");
    await items
      .nth(0)
      .getByRole("button", { name: /^Delete/ })
      .click();
    await expect(dialog).toContainText("No running queries");
  });

  test("link to their rows", async ({ page }) => {
    await fetch(`${server.origin}/v1/query`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        table: "every_type",
        sort: [{ column: "int32", descending: true }],
        columns: ["int32", "string"],
      }),
    });
    await openStartPage(page, server.origin);
    const dialog = await openQueries(page);
    await dialog.getByRole("link", { name: /^every_type/ }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByRole("columnheader", { name: /^int32/ })).toHaveAttribute(
      "aria-sort",
      "descending",
    );
    await expect(page).toHaveURL(/table=every_type/);
  });

  test("a stored result of a statement is shown without running the statement again", async ({
    page,
  }) => {
    const sql = "select origin, count(*) as n from flights group by origin order by n desc, origin";
    const answer = await fetch(`${server.origin}/v1/query`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ sql }),
    });
    await answer.arrayBuffer();
    await openStartPage(page, server.origin);
    const dialog = await openQueries(page);
    await expect(dialog.getByRole("listitem")).toContainText("Done");
    await dialog.getByRole("link", { name: sql }).click();
    await expect(page.getByRole("status")).toContainText("Complete");
    await expect(cell(page, 0, 1)).toHaveText(/^[A-Z]{3}$/);
    const ids = (await server.queries()).map(({ id }) => id);
    expect(ids).toEqual([answer.headers.get("x-query-id")]);
    await page.goto("about:blank");
    expect(await server.queries()).toHaveLength(1);
  });

  test("an alert says that the server does not respond, until it is back", async ({ page }) => {
    const proxy = await CuttingProxy.start(server.origin);
    await page.goto(proxy.origin);
    const dialog = await openQueries(page);
    await expect(dialog).toContainText("No running queries");
    await server.kill();
    await expect(dialog.getByRole("alert")).toContainText("Could not reach the server");
    server = await Server.start();
    proxy.target = server.origin;
    await expect(dialog.getByRole("alert")).toBeHidden();
    await proxy.close();
  });
});

test.describe("a server that is killed and started again", () => {
  let folder: string;
  let server: Server;
  let proxy: CuttingProxy;
  const serve = () => Server.start([`lineitem=${smallFile("lineitem")}`, "--data-dir", folder]);
  test.beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "colonnade-live-"));
    server = await serve();
    proxy = await CuttingProxy.start(server.origin);
  });
  test.afterEach(async () => {
    await proxy.close();
    await server.kill();
    rmSync(folder, { recursive: true });
  });

  /** Shows lineitem; its stream stalls until `restart` kills the server. */
  async function showStalled(
    page: Page,
  ): Promise<(meanwhile: () => Promise<void>) => Promise<void>> {
    const { opened, open } = gate();
    await page.goto(proxy.origin);
    await expect(page.getByRole("link", { name: /^lineitem\b/ })).toBeVisible();
    const die = async () => {
      await opened;
      await server.kill();
    };
    // All of lineitem has 17 MB.
    proxy.cuts = [{ at: proxy.numBytes + 6_000_000, by: "reset", meanwhile: die }];
    await page.getByRole("link", { name: /^lineitem\b/ }).click();
    await expect(cell(page, 0, 1)).toHaveText("1");
    /** Kills the server as a crash would, runs `meanwhile`, and restarts it behind the same address. */
    return async (meanwhile) => {
      open();
      await meanwhile();
      server = await serve();
      proxy.target = server.origin;
    };
  }

  test("a running stream resumes without user action", async ({ page }) => {
    const restart = await showStalled(page);
    const status = page.getByRole("status");
    await restart(async () => {
      await expect(status).toContainText("Connection lost at row");
      await expect(cell(page, 0, 1)).toHaveText("1");
    });
    await expect(status).toContainText(SMALL_COMPLETE);
    await goToRow(page, SMALL_ROWS);
    await expect(cell(page, SMALL_ROWS - 1, 1)).toHaveText(/^\d+$/);
    await expect(page.getByRole("alert")).toBeHidden();
    await expect(page.getByRole("link", { name: /^lineitem\b/ })).toBeVisible();
  });

  test("what a person did with a statement's rows outlasts a restart and another tab, and nothing runs twice", async ({
    page,
  }) => {
    await page.goto(proxy.origin);
    const status = page.getByRole("status");
    const sql = page.getByRole("textbox", { name: "SQL" });
    await sql.fill("select l_returnflag, l_quantity, l_orderkey, l_comment from lineitem");
    await sql.press("Control+Enter");
    await expect(status).toContainText(SMALL_COMPLETE);
    const viewer = page.locator("colonnade-viewer");
    await viewer.evaluate((each: ColonnadeViewer) => {
      each.state = {
        filter: { op: "in", column: "l_returnflag", value: ["A", "R"] },
        columns: { pinned: ["l_orderkey"] },
      };
    });
    await expect(status).toContainText("filtered by l_returnflag");
    // The headers move when the pinned column comes first.
    const header = (name: RegExp) => page.getByRole("columnheader", { name });
    const left = async (name: RegExp) => (await header(name).boundingBox())?.x ?? 0;
    await expect(async () => {
      expect(await left(/^l_orderkey/)).toBeLessThan(await left(/^l_returnflag/));
    }).toPass();
    await header(/^l_quantity/).click();
    await expect(status).toContainText("sorted by l_quantity");
    // The sorted rows begin at the first one.
    await expect(cell(page, 0, 3)).toHaveText("1.00");
    await goToRow(page, 500);
    const shown = await Promise.all([1, 2, 3, 4].map((column) => textOf(cell(page, 499, column))));
    await doubleClick(cell(page, 499, 4));
    const inspector = page.getByRole("dialog", { name: /l_comment/ });
    await expect(inspector).toContainText(shown[3] ?? "nothing");
    await page.keyboard.press("Escape");
    await expect(inspector).toBeHidden();
    await expect(page).toHaveURL(/row=499/);
    const url = page.url();
    const expectUnchanged = async () => {
      for (const [index, text] of shown.entries()) {
        await expect(cell(page, 499, index + 1)).toHaveText(text);
      }
      await expect(page.getByRole("columnheader", { name: /^l_quantity/ })).toHaveAttribute(
        "aria-sort",
        "ascending",
      );
      await expect(page.getByRole("columnheader").first()).toContainText("l_orderkey");
      await expect(page).toHaveURL(url);
      await expect(page.getByRole("alert")).toBeHidden();
    };
    await server.kill();
    server = await serve();
    proxy.target = server.origin;
    await expectUnchanged();
    await page.getByRole("link", { name: /^lineitem\b/ }).click();
    await expect(status).toContainText(SMALL_COMPLETE);
    const numResults = (await server.queries()).length;
    const tabs = page.getByRole("tablist", { name: "Open tables and statements" }).getByRole("tab");
    await tabs.nth(1).click();
    await expectUnchanged();
    await goToRow(page, 501);
    await expect(cell(page, 500, 4)).toHaveText(/./);
    expect(await server.queries()).toHaveLength(numResults);
  });

  test("the list of tables is loaded once the server can be reached", async ({ page }) => {
    await page.route("**/v1/tables", (route) => route.abort());
    await page.goto(server.origin);
    await expect(page.getByText("Could not reach the server")).toBeVisible();
    await page.unroute("**/v1/tables");
    await expect(page.getByRole("link", { name: /^lineitem\b/ })).toBeVisible();
  });

  test("a stream whose retries have ended resumes when the server is back", async ({ page }) => {
    await hasten(page);
    const restart = await showStalled(page);
    await page.clock.install();
    await restart(async () => {
      await expect(page.getByRole("status")).toContainText("Connection lost at row");
      await expect(page.getByText("Rows continue to load")).toBeVisible();
      await expect(page.getByRole("alert")).toContainText("not restored within 60 s");
    });
    await page.clock.runFor(3000);
    await expect(page.getByText("Rows continue to load")).toBeHidden();
    await expect(page.getByRole("alert")).toBeHidden();
    await expect(page.getByRole("status")).toContainText(/Streaming|Complete/);
  });
});

test("the page itself does not scroll", async ({ page, small }) => {
  const charts = JSON.stringify([["histogram", "delay"]]);
  await page.goto(`${small.origin}/?${new URLSearchParams({ table: "flights", chart: charts })}`);
  await expect(page.getByRole("application")).toBeVisible();
  await page.getByRole("button", { name: "Open files" }).focus();
  const overflow = await page.evaluate(() => {
    const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
    return [scrollWidth - clientWidth, scrollHeight - clientHeight];
  });
  expect(overflow).toEqual([0, 0]);
});

test("a reload shows the same table at the same row", async ({ page, small }) => {
  await page.goto(`${small.origin}/?table=flights`);
  await expect(page.getByRole("status")).toContainText(SMALL_COMPLETE);
  await goToRow(page, 60_000);
  const text = await textOf(cell(page, 59_999, 1));
  await expect(page).toHaveURL(/row=\d{5}/);
  await page.reload();
  await expect(cell(page, 59_999, 1)).toHaveText(text);
  await expect(page.getByRole("link", { name: /^flights\b/ })).toHaveAttribute(
    "aria-current",
    "page",
  );
});

test("the help lists the shortcuts and is accessible", async ({ page, demo }) => {
  await page.goto(`${demo.origin}/?table=every_type`);
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const does of [
    "Filter tables",
    "Run the selection",
    "Copy the exact values",
    "Sort by the column",
  ]) {
    await expect(sheet).toContainText(does);
  }
  await expect(sheet).toContainText(/First rows shown [\d.]+ m?s after the page was requested/);
  await expectAccessible(page);
  await page.setViewportSize({ width: 400, height: 700 });
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(sheet).toBeHidden();
});

test("a help dialog that is opened before the first rows then shows their time", async ({
  page,
  demo,
}) => {
  const { opened, open } = gate();
  await page.route("**/v1/tables/every_type/rows?*", async (route) => {
    await opened;
    await route.continue();
  });
  await page.goto(`${demo.origin}/?table=every_type`);
  await expect(page.getByRole("status")).toContainText("Connecting");
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(sheet).toContainText("Filter tables");
  await expect(sheet).not.toContainText("First rows");
  open();
  await expect(sheet).toContainText(/First rows shown [\d.]+ m?s after the page was requested/);
});

test("single-key shortcuts go to the parts of the page, but not while the user types", async ({
  page,
  demo,
}) => {
  await page.goto(`${demo.origin}/?table=every_type`);
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  const filter = page.getByLabel("Filter tables");
  await page.keyboard.press("/");
  await expect(filter).toBeFocused();
  await page.keyboard.type("q?/s");
  await expect(filter).toHaveValue("q?/s");
  await expect(page.getByRole("dialog")).toBeHidden();
  await filter.fill("");
  await filter.blur();
  await page.keyboard.press("s");
  await expect(page.getByRole("textbox", { name: "SQL" })).toBeFocused();
  await page.keyboard.type("q");
  await expect(page.getByRole("dialog")).toBeHidden();
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("r");
  await page.keyboard.press("ArrowDown");
  await expect(cell(page, 1, 1)).toBeFocused();
  await page.keyboard.press("q");
  await expect(page.getByRole("dialog", { name: "Queries" })).toBeVisible();
  // While a dialog is open, single-key shortcuts are off.
  await page.keyboard.press("/");
  await expect(page.getByRole("dialog", { name: "Queries" })).toBeVisible();
  await page.keyboard.press("Escape");

  await page.keyboard.press("?");
  await page.getByLabel("Enable single-key shortcuts").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await expect(filter).not.toBeFocused();
});

test("on a narrow page, the shortcut / opens the list of tables", async ({ page, demo }) => {
  await page.setViewportSize({ width: 400, height: 700 });
  await page.goto(`${demo.origin}/?table=every_type`);
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  await expect(page.getByLabel("Filter tables")).toBeHidden();
  await page.keyboard.press("/");
  await expect(page.getByLabel("Filter tables")).toBeFocused();
});

test(
  "a print shows only the visible rows, as a plain table",
  chromiumOnly("Firefox's driver cannot emulate media"),
  async ({ page, small }) => {
    const sorted = "table=lineitem&sort=-l_orderkey";
    const filter = encodeURIComponent(
      JSON.stringify({ op: "eq", column: "l_linenumber", value: 7 }),
    );
    await page.goto(`${small.origin}/?${sorted}&filter=${filter}`);
    await expect(cell(page, 0, 4)).toHaveText("7");
    await goToRow(page, 1001);
    await expect(cell(page, 1000, 4)).toHaveText("7");
    const inSight = await textOf(cell(page, 1000, 1));
    await page.emulateMedia({ media: "print" });
    const table = page.getByRole("table");
    await expect(table).toBeVisible();
    await expect(page.getByRole("heading", { name: "lineitem" })).toBeVisible();
    await expect(page.getByText("Filter: l_linenumber = 7")).toBeVisible();
    await expect(page.getByText("Sorted by l_orderkey, descending")).toBeVisible();
    await expect(page.getByText(/^Rows [\d,]+ to [\d,]+/)).toBeVisible();
    await expect(table.getByRole("columnheader", { name: "l_orderkey" })).toBeVisible();
    const row = table.getByRole("row").filter({ has: page.getByText("1,001", { exact: true }) });
    await expect(row.getByRole("cell").first()).toHaveText(inSight);
    const opacity = (locator: Locator) =>
      locator.evaluate((element) => getComputedStyle(element).opacity);
    for (const chrome of ["banner", "navigation", "main"] as const) {
      expect(await opacity(page.getByRole(chrome))).toBe("0");
    }
    await page.emulateMedia({ media: null });
    await expect(table).toBeHidden();
    const pdf = (await page.pdf()).toString("latin1");
    expect(pdf.match(/\/Type \/Page\b(?!s)/g)).toHaveLength(1);
  },
);

test("the time until the first rows are painted (logged, without a limit)", {
  tag: "@full",
}, async ({ page, demo }) => {
  test.setTimeout(240_000);
  const times: number[] = [];
  const violations: string[] = [];
  page.on("console", (message) => {
    if (/content security policy/i.test(message.text())) violations.push(message.text());
  });
  // The first visit only fills the caches of the browser and the server.
  for (let visit = 0; visit <= 10; visit++) {
    await page.goto("about:blank");
    await page.goto(`${demo.origin}/?table=flights`);
    const mark = () =>
      page.evaluate(() => performance.getEntriesByName("colonnade-first-rows")[0]?.startTime);
    await expect.poll(mark).toBeGreaterThan(0);
    if (visit > 0) times.push(Math.round((await mark()) ?? 0));
  }
  times.sort((a, b) => a - b);
  const median = ((times[4] ?? 0) + (times[5] ?? 0)) / 2;
  console.log(`first rows painted after ${median} ms (median; all: ${times.join(", ")})`);
  expect(violations).toEqual([]);
});
