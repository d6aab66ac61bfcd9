import { test as base, expect, type Locator, type Page } from "@playwright/test";
import { Server } from "./server.js";

export { expect };

/** What Firefox reports beside the errors of scripts: a page's policy, and requests that fail, as to a killed server. */
const NOTICES = new Set(["Content-Security-Policy", "Cross-Origin Request Blocked"]);

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
      page.on("pageerror", ({ name, message }) => {
        if (!NOTICES.has(name)) errors.push(message);
      });
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

/**
 * Moves the mouse to the middle of a cell that rests in sight. Playwright's own `hover` and `click` scroll it to
 * the middle of an unchanged Firefox first, and the grid's rows move while they aim.
 */
export async function pointAt(cell: Locator): Promise<void> {
  await expect(cell).toBeVisible();
  let box = await cell.boundingBox();
  await expect(async () => {
    const before = box;
    box = await cell.boundingBox();
    expect(box).toEqual(before);
  }).toPass({ intervals: [50] });
  if (box === null) throw new Error("the cell is not in sight");
  await cell.page().mouse.move(box.x + box.width / 2, box.y + box.height / 2);
}

/** Clicks a cell where {@link pointAt} points, with a key pressed if one is named. */
export async function clickOn(cell: Locator, modifier?: "Shift"): Promise<void> {
  const page = cell.page();
  await pointAt(cell);
  if (modifier !== undefined) await page.keyboard.down(modifier);
  await page.mouse.down();
  await page.mouse.up();
  if (modifier !== undefined) await page.keyboard.up(modifier);
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

/**
 * Goes back in the page's history. Playwright's own `goBack` does nothing in an unchanged Firefox. The page
 * answers before it goes: a page that has gone has no answer.
 */
export async function goBack(page: Page): Promise<void> {
  await page.evaluate(() => {
    setTimeout(() => history.back());
  });
}
