import { test as base, expect, type Locator, type Page } from "@playwright/test";
import { Server } from "./server.js";

export { expect };

/** Tests that fail on errors of the page, with one server of the demo tables for all tests of a file. */
export const test = base.extend<{ failOnErrors: undefined }, { demo: Server }>({
  demo: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.kill();
    },
    { scope: "worker" },
  ],
  failOnErrors: [
    async ({ page }, use) => {
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.message));
      await use(undefined);
      if (errors.length > 0) throw new Error(`the page threw: ${errors.join("; ")}`);
    },
    { auto: true },
  ],
});

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

/** Types `row` into "Go to row" and confirms it. */
export async function goToRow(page: Page, row: number): Promise<void> {
  const input = page.getByLabel("Go to row");
  await input.fill(String(row));
  await input.press("Enter");
}
