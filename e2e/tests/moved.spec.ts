// An element that is moved in the document, or leaves it and returns.

import type { Page } from "@playwright/test";
import { ReplayServer } from "../../web/test/replay.js";
import { cell, expect } from "./fixtures.js";
import { testOn } from "./other-origin.js";
import { packageFile } from "./package.js";
import type { Server } from "./server.js";

const PAGE = `<!doctype html><html lang="en"><title>Moved</title>
<style>colonnade-viewer { height: 400px; width: 700px }</style>
<main></main><aside></aside>
<script type="module">
import { open } from "/index.js";
import "/define.js";
window.openOwn = open;
window.viewer = document.createElement("colonnade-viewer");
const src = new URLSearchParams(location.search).get("src");
if (src !== null) viewer.src = src;
document.querySelector("main").append(viewer);
</script>`;

const test = testOn(PAGE);
const status = (page: Page) => page.getByRole("status");

/** What the tests use of the element. */
interface Moved extends HTMLElement {
  state: { sort: unknown; filter: unknown; row: number; columns: { shown: string[] } };
  table: unknown;
}
declare global {
  var viewer: Moved;
  var openOwn: typeof import("colonnade").open;
}

/** The rows and columns in sight, by their accessible indices. */
async function inSight(page: Page): Promise<{ row: number; column: number }> {
  const grid = await page.getByRole("grid").boundingBox();
  const cells = await page.getByRole("gridcell").evaluateAll(
    (all, { x, y }) =>
      all.flatMap((each) => {
        const { right, bottom } = each.getBoundingClientRect();
        const row = Number(each.parentElement?.ariaRowIndex);
        return right > x + 120 && bottom > y + 110
          ? [{ row, column: Number(each.ariaColIndex) }]
          : [];
      }),
    grid ?? { x: 0, y: 0 },
  );
  return {
    row: Math.min(...cells.map(({ row }) => row)),
    column: Math.min(...cells.map(({ column }) => column)),
  };
}

/** Opens a table in the page's element. */
async function show(page: Page, origin: string, server: Server, path: string): Promise<void> {
  await page.goto(`${origin}/?${new URLSearchParams({ src: `${server.origin}${path}` })}`);
  await expect(status(page)).toContainText("Complete");
}

test("a moved element scrolls on from where it was", async ({ page, pages, server }) => {
  await show(page, pages.origin, server, "/v1/tables/lineitem/rows?limit=20000");
  await page.evaluate(() => {
    viewer.state = { row: 5000 } as typeof viewer.state;
  });
  await expect(cell(page, 5000, 1)).toBeVisible();
  const box = await page.getByRole("grid").boundingBox();
  await page.mouse.move((box?.x ?? 0) + 300, (box?.y ?? 0) + 250);
  await page.mouse.wheel(600, 0);
  await expect.poll(async () => (await inSight(page)).column).toBeGreaterThan(3);
  const before = await inSight(page);
  await page.evaluate(() => document.querySelector("aside")?.append(viewer));
  await page.mouse.wheel(0, 60);
  // One event of the wheel moves the rows by about two.
  await expect.poll(async () => (await inSight(page)).row).toBeGreaterThan(before.row);
  const after = await inSight(page);
  expect(after.row - before.row).toBeLessThan(20);
  expect(after.column).toBe(before.column);
});

test("an element that is moved while it connects sends one request", async ({ page }) => {
  const server = new ReplayServer();
  server.file = (path) => packageFile(path, PAGE);
  await server.listen();
  try {
    server.faults = [{ kind: "stall", at: 100 }];
    await page.goto(`${server.origin}/?src=/v1/tables/numbered/rows`);
    await expect.poll(() => server.seen.length).toBe(1);
    await page.evaluate(() => document.querySelector("aside")?.append(viewer));
    await expect(status(page)).toContainText("Connecting");
    server.cut();
    await expect(status(page)).toContainText("Complete: 300 rows");
    // A stream that resumes names its result in the path.
    expect(server.seen.flatMap(({ params }) => params.id ?? [])).toHaveLength(1);
  } finally {
    await server.close();
  }
});

test("an element that returns shows the same rows and columns", async ({ page, pages, server }) => {
  await show(page, pages.origin, server, "/v1/tables/lineitem/rows?limit=20000");
  const state = {
    sort: [{ column: "l_partkey", descending: true }],
    filter: { op: "ge", column: "l_quantity", value: "25" },
    columns: { shown: ["l_partkey", "l_quantity", "l_tax"] },
    row: 3000,
  };
  await page.evaluate((wanted) => {
    viewer.state = wanted as typeof viewer.state;
  }, state);
  await expect(cell(page, 3000, 1)).toHaveText(/^\d+$/);
  const text = await cell(page, 3000, 1).textContent();
  await page.evaluate(() => viewer.remove());
  await expect.poll(() => page.evaluate(() => viewer.table)).toBeUndefined();
  await page.evaluate(() => document.querySelector("aside")?.append(viewer));
  await expect(cell(page, 3000, 1)).toHaveText(text ?? "");
  await expect(page.getByRole("columnheader")).toHaveCount(3);
  const after = await page.evaluate(() => viewer.state);
  expect(after).toMatchObject(state);
});

test("an element that leaves gives back what it opened for the page's own table", async ({
  page,
  pages,
  server,
}) => {
  await page.goto(pages.origin);
  const address = `${server.origin}/v1/tables/lineitem/rows?columns=l_orderkey,l_partkey`;
  await page.evaluate(async (src) => {
    const table = await openOwn(src, { memoryBytes: 8 * 2 ** 20 });
    await table.done;
    viewer.table = table;
  }, address);
  await expect(status(page)).toContainText("Windowed");
  const ids = async () => (await server.queries()).map(({ id }) => id);
  const own = await ids();
  await page.evaluate(() => {
    viewer.state = { sort: [{ column: "l_partkey", descending: false }] } as typeof viewer.state;
  });
  await expect(cell(page, 0, 2)).toHaveText("1");
  await expect.poll(async () => (await ids()).length).toBe(own.length + 1);
  await page.evaluate(() => viewer.remove());
  await expect.poll(ids).toEqual(own);
  await page.evaluate(() => document.querySelector("aside")?.append(viewer));
  await expect(cell(page, 0, 2)).toHaveText("1");
});
