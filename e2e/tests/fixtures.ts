import { test as base, expect, type Locator, type Page } from "@playwright/test";
import { PageServer } from "./package.js";
import { Server, smallTables } from "./server.js";

export { expect };

interface Servers {
  /** The demo tables: `lineitem` with 6,001,215 rows, `flights` with 3,000,000, and `every_type`. */
  demo: Server;
  /** The same tables with {@link SMALL_ROWS} rows of `lineitem` and `flights`. */
  small: Server;
  /** A web server of another origin, which both servers allow; see `testOn`. */
  pageServer: PageServer;
}

interface Checks {
  /** Messages that do not fail a test. */
  allowedErrors: RegExp;
  failOnErrors: undefined;
}

/** The number of rows of `lineitem` and `flights` on the server `small`. */
export const SMALL_ROWS = 100_000;

/** The status of a complete table with {@link SMALL_ROWS} rows. */
export const SMALL_COMPLETE = "Complete: 100,000 rows";

/** Tests that fail on errors of the page. Each worker starts each server once, when a test first needs it. */
export const test = base.extend<Checks, Servers>({
  demo: [
    async ({ pageServer }, use) => {
      const server = await Server.start(["--allow-origin", pageServer.origin]);
      await use(server);
      await server.kill();
    },
    { scope: "worker" },
  ],
  small: [
    async ({ pageServer }, use) => {
      const server = await Server.start([...smallTables(), "--allow-origin", pageServer.origin]);
      await use(server);
      await server.kill();
    },
    { scope: "worker" },
  ],
  pageServer: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const pages = new PageServer("");
      await pages.listen();
      await use(pages);
      pages.close();
    },
    { scope: "worker" },
  ],
  allowedErrors: [/^$/, { option: true }],
  failOnErrors: [
    async ({ page, allowedErrors }, use) => {
      const errors: string[] = [];
      page.on("pageerror", ({ message }) => {
        if (!allowedErrors.test(message)) errors.push(message);
      });
      await use(undefined);
      if (errors.length > 0) throw new Error(`the page threw: ${errors.join("; ")}`);
    },
    { auto: true },
  ],
});

/** Details of a test that only Chromium's driver can run, for a reason. */
export function chromiumOnly(reason: string, ...tags: string[]) {
  return {
    tag: ["@chromium", ...tags],
    annotation: { type: "Chromium only", description: reason },
  };
}

/**
 * Double-clicks an element that is in view. Firefox's driver sends two clicks only, so there the page gets the event
 * from here. It would also scroll the element to the middle; see {@link pointAt}.
 */
export async function doubleClick(element: Locator): Promise<void> {
  const page = element.page();
  if (page.context().browser()?.browserType().name() === "chromium") return element.dblclick();
  await element.waitFor();
  const box = await element.boundingBox();
  if (box === null) throw new Error("the element is not shown");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let click = 0; click < 2; click++) {
    await page.mouse.down();
    await page.mouse.up();
  }
  await element.dispatchEvent("dblclick");
}

/** The ids of the results that the page requests from now on; other results of a server are not the page's. */
export function resultIds(page: Page): ReadonlySet<string> {
  const ids = new Set<string>();
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    const id =
      /^\/v1\/query\/([^/]+)/.exec(pathname)?.[1] ??
      searchParams.get("id") ??
      (pathname === "/v1/query" ? /"id":"([^"]+)"/.exec(request.postData() ?? "")?.[1] : undefined);
    if (id) ids.add(id);
  });
  // Firefox's driver hides the bodies of requests.
  page.on("response", (response) => {
    const id = response.headers()["x-query-id"];
    if (id) ids.add(id);
  });
  return ids;
}

/** Opens the start page, and waits until it has looked for its example's column and has deleted that result. */
export async function openStartPage(page: Page, origin: string): Promise<void> {
  const deleted = page.waitForResponse((answer) => answer.request().method() === "DELETE");
  await page.goto(origin);
  await deleted;
}

/** Chooses a table in the list. */
export async function chooseTable(page: Page, name: string): Promise<void> {
  await page
    .getByRole("navigation", { name: "Tables" })
    .getByRole("link", { name: new RegExp(`^${name}\\b`) })
    .click();
}

/** The cell in the 0-based row `row` and the column with the 1-based `aria-colindex` `column`. */
export function cell(page: Page, row: number, column: number): Locator {
  // aria-rowindex counts from 1 and the header is the first.
  return page.locator(
    `[role=row][aria-rowindex="${row + 2}"] [role=gridcell][aria-colindex="${column}"]`,
  );
}

/** The text of a cell, once its value has arrived. */
export async function textOf(cell: Locator): Promise<string> {
  await expect(cell).not.toBeEmpty();
  return (await cell.textContent()) ?? "";
}

/**
 * Moves the pointer to a cell that is in view. Firefox's driver scrolls an element to the middle before it
 * hovers or clicks, and the grid follows a frame later.
 */
export async function pointAt(page: Page, row: number, column: number): Promise<void> {
  const box = await cell(page, row, column).boundingBox();
  if (box === null) throw new Error("there is no such cell");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
}

/** Clicks a cell that is in view; see {@link pointAt}. */
export async function pressAt(page: Page, row: number, column: number): Promise<void> {
  await pointAt(page, row, column);
  await page.mouse.down();
  await page.mouse.up();
}

/** Types `row` into "Go to row" and confirms it. */
export async function goToRow(page: Page, row: number): Promise<void> {
  const input = page.getByLabel("Go to row");
  await input.fill(String(row));
  await input.press("Enter");
}
