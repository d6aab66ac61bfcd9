import type { Page } from "@playwright/test";
import { Site } from "../../scripts/site.mjs";
import { cell, chooseTable, expect, goToRow, test, textOf } from "./fixtures.js";
import { inCheckout, Server, smallTables } from "./server.js";

/** The clipboard's text. */
function copied(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Sorts by a column with a click on its header. */
async function sortBy(page: Page, column: string): Promise<void> {
  await page.getByRole("columnheader", { name: new RegExp(`^${column}\\b`) }).click();
}

/** The address of a table with a sort order, a filter, chosen columns and a row. */
const ARRANGED =
  "/?table=flights&columns=origin,delay,distance&pinned=origin&sort=-delay,distance" +
  `&filter=${encodeURIComponent('{"op":"eq","column":"origin","value":"SEA"}')}&row=1000`;

async function expectArranged(page: Page): Promise<void> {
  await expect(page.getByRole("columnheader")).toHaveText([/^origin/, /^delay/, /^distance/]);
  await expect(page.getByRole("columnheader", { name: /^delay/ })).toHaveAttribute(
    "aria-sort",
    "descending",
  );
  await expect(cell(page, 1000, 1)).toHaveText("SEA");
  await expect(cell(page, 1000, 1)).toBeInViewport();
}

test("a copied link shows the same columns, order, filter and row in another browser", async ({
  page,
  small,
  browser,
}) => {
  await page.goto(small.origin + ARRANGED);
  await expectArranged(page);
  const delay = await textOf(cell(page, 1000, 2));
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page.getByText("Link copied")).toBeVisible();
  const link = await copied(page);

  const context = await browser.newContext();
  const other = await context.newPage();
  await other.goto(link);
  await expectArranged(other);
  await expect(cell(other, 1000, 2)).toHaveText(delay);
  await context.close();
});

test("links are copied on pages without TLS, which have no clipboard", async ({ page, small }) => {
  const prompts: string[] = [];
  page.on("dialog", (dialog) => {
    prompts.push(dialog.defaultValue());
    void dialog.dismiss();
  });
  await page.addInitScript(() =>
    Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true }),
  );
  await page.goto(small.origin + ARRANGED);
  await expectArranged(page);
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page.getByText("Link copied")).toBeVisible();
  const other = await page.context().newPage();
  await other.goto(small.origin);
  await other.evaluate(() => Reflect.deleteProperty(navigator, "clipboard"));
  expect(await copied(other)).toContain("table=flights");
  expect(prompts).toEqual([]);

  await page.evaluate(() => {
    document.execCommand = () => false;
  });
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect.poll(() => prompts).toEqual([expect.stringContaining("table=flights")]);
});

test("the address contains only what differs from the defaults", async ({ page, small }) => {
  await page.goto(small.origin);
  await chooseTable(page, "flights");
  await expect(page).toHaveURL(`${small.origin}/?table=flights`);
  await expect(page.getByRole("status")).toContainText("Complete");
  await expect(page).toHaveURL(`${small.origin}/?table=flights`);
  await goToRow(page, 5001);
  await expect(page).toHaveURL(`${small.origin}/?table=flights&row=5000`);
  await sortBy(page, "delay");
  await expect(page).toHaveURL(`${small.origin}/?table=flights&sort=delay`);
});

test("a link with an invalid filter is replaced by the address of the shown rows", async ({
  page,
  small,
}) => {
  await page.goto(small.origin);
  const filter = JSON.stringify({ op: "eq", column: "no_such", value: "1" });
  await page.goto(`${small.origin}/?${new URLSearchParams({ table: "flights", filter })}`);
  await expect(page.getByRole("alert")).toContainText("no_such");
  await expect(page).toHaveURL(`${small.origin}/?table=flights`);
  await goToRow(page, 5001);
  await expect(page).toHaveURL(`${small.origin}/?table=flights&row=5000`);
  await page.goBack();
  await expect(page).toHaveURL(`${small.origin}/`);
});

test("Back and Forward go through the shown tables and sort orders", async ({ page, small }) => {
  await page.goto(small.origin);
  await chooseTable(page, "flights");
  await expect(page.getByRole("status")).toContainText("Complete");
  await sortBy(page, "distance");
  const header = page.getByRole("columnheader", { name: /^distance/ });
  await expect(header).toHaveAttribute("aria-sort", "ascending");
  await expect(page).toHaveURL(`${small.origin}/?table=flights&sort=distance`);
  await chooseTable(page, "every_type");
  await expect(page.getByRole("columnheader", { name: /^row\b/ })).toBeVisible();

  await page.goBack();
  await expect(header).toHaveAttribute("aria-sort", "ascending");
  await page.goBack();
  await expect(page).toHaveURL(`${small.origin}/?table=flights`);
  await expect(header).toHaveAttribute("aria-sort", "none");
  await page.goForward();
  await expect(header).toHaveAttribute("aria-sort", "ascending");
  await page.goBack();
  await expect(header).toHaveAttribute("aria-sort", "none");
  await page.goBack();
  await expect(page.getByRole("heading", { name: /Tables of any size/ })).toBeVisible();
});

test("a link with a statement and a sort order shows both", async ({ page, small }) => {
  const sql = "select origin, count(*) as n from flights group by origin";
  const query = new URLSearchParams({ sql, sort: "-n" });
  await page.goto(`${small.origin}/?${query}`);
  await expect(page.getByRole("textbox", { name: "SQL" })).toHaveValue(sql);
  await expect(cell(page, 0, 1)).toHaveText("ORD");
});

test("the embed code of a table shows the same rows", async ({ page }) => {
  const site = new Site();
  await site.listen();
  const server = await Server.start([...smallTables(), "--allow-origin", site.origin]);
  try {
    await page.goto(server.origin + ARRANGED);
    await expectArranged(page);
    await page.getByRole("button", { name: "Copy embed code" }).click();
    await expect(page.getByText("Embed code copied")).toBeVisible();
    await openEmbedded(page, site, await copied(page));
    await expectArranged(page);
  } finally {
    await server.kill();
    site.close();
  }
});

test("the embed code of a statement runs it", async ({ page }) => {
  const site = new Site();
  await site.listen();
  const server = await Server.start([...smallTables(), "--allow-origin", site.origin]);
  try {
    const sql = `select '</script>' as "a<b", "origin", count(*) as n from flights group by 1, 2`;
    await page.goto(`${server.origin}/?${new URLSearchParams({ sql, sort: "-n" })}`);
    await expect(cell(page, 0, 2)).toHaveText("ORD");
    await page.getByRole("button", { name: "Copy embed code" }).click();
    await expect(page.getByText("Embed code copied")).toBeVisible();
    await openEmbedded(page, site, await copied(page));
    await expect(cell(page, 0, 1)).toHaveText("</script>");
    await expect(cell(page, 0, 2)).toHaveText("ORD");
  } finally {
    await server.kill();
    site.close();
  }
});

/** Opens HTML in a page of another origin that has the built package. */
async function openEmbedded(page: Page, site: Site, code: string): Promise<void> {
  site.folders = { "/colonnade/": inCheckout("web/dist") };
  const map = JSON.stringify({ imports: { "colonnade/define": "/colonnade/define.js" } });
  const height = "<style>colonnade-viewer{display:block;height:500px}</style>";
  const html = `<!doctype html><title>t</title>${height}<script type="importmap">${map}</script>${code}`;
  await page.route(`${site.origin}/`, (route) =>
    route.fulfill({ contentType: "text/html", body: html }),
  );
  await page.goto(`${site.origin}/`);
}
