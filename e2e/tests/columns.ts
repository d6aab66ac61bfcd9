import type { Page } from "@playwright/test";
import { cell, expect } from "./fixtures.js";
import { testOn } from "./other-origin.js";
import type { PageServer } from "./package.js";
import type { Server } from "./server.js";

export {
  cell,
  doubleClick,
  expect,
  pressAt,
  SMALL_COMPLETE,
  SMALL_ROWS,
  textOf,
} from "./fixtures.js";

const PAGE = `<!doctype html><title>Columns</title>
<style>body { margin: 0 } colonnade-viewer { height: 100vh }</style>
<script type="module">
import { open } from "/index.js";
import "/define.js";
window.openTable = open;
const viewer = document.createElement("colonnade-viewer");
window.reported = [];
for (const name of ["sort", "filter", "state"]) {
  viewer.addEventListener("colonnade-" + name, ({ detail }) => reported.push([name, detail]));
}
for (const [name, value] of new URLSearchParams(location.search)) viewer.setAttribute(name, value);
document.body.append(viewer);
</script>`;

declare global {
  var reported: [string, unknown][];
}

/** Tests with a viewer of small tables, whose sort, filter and state events are recorded in `reported`. */
export const test = testOn(PAGE).extend({ server: async ({ small }, use) => use(small) });

export const header = (page: Page, name: string) =>
  page.getByRole("columnheader", { name: new RegExp(`^${name}\\b`) });
export const status = (page: Page) => page.getByRole("status");
export const lastReported = (page: Page, name: string) =>
  page.evaluate(
    (wanted) => globalThis.reported.filter(([type]) => type === wanted).at(-1)?.[1],
    name,
  );
export const getState = (page: Page) =>
  page.locator("colonnade-viewer").evaluate((viewer) => {
    return (viewer as unknown as { state: Record<string, unknown> }).state;
  });

export async function show(
  { page, pages, server }: { page: Page; pages: PageServer; server: Server },
  path: string,
  attributes: Record<string, string> = {},
): Promise<void> {
  const query = new URLSearchParams({ src: `${server.origin}${path}`, ...attributes });
  await page.goto(`${pages.origin}/?${query}`);
}

/** Texts of the first 8 rows of a request, read by a second table. */
export function answered(page: Page, server: Server, body: object, columns: string[]) {
  return page.evaluate(
    async ({ address, json, names }) => {
      const request = new Request(address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: json,
      });
      const table = await globalThis.openTable(request as unknown as string);
      await table.done;
      return table.text({ start: 0, end: 8 }, names);
    },
    { address: `${server.origin}/v1/query`, json: JSON.stringify(body), names: columns },
  );
}

export async function expectRows(
  page: Page,
  rows: (string | null)[][],
  firstColumn = 1,
): Promise<void> {
  for (const [row, texts] of rows.entries()) {
    for (const [index, text] of texts.entries()) {
      await expect(cell(page, row, firstColumn + index)).toHaveText(text ?? "null");
    }
  }
}

export const FLIGHTS = "/v1/tables/flights/rows";

export async function openMenu(page: Page, name: string): Promise<void> {
  // Columns that just get their widths move away from the mouse.
  await expect(async () => {
    await header(page, name).hover();
    await header(page, name).locator("button").click({ timeout: 2000 });
  }).toPass();
  await expect(page.getByRole("dialog", { name: `Column ${name}` })).toBeVisible();
}
