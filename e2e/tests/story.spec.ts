// A user's session with a folder of files, from opening a table to sharing a link.

import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { header, openMenu, status } from "./columns.js";
import { test as base, cell, chooseTable, expect, SMALL_COMPLETE, textOf } from "./fixtures.js";
import { Server, smallFile } from "./server.js";

const AIRPORTS = `code,city
ATL,Atlanta
DFW,Dallas
LAX,Los Angeles
ORD,Chicago
SEA,Seattle
`;
const test = base.extend<{ folder: string; server: Server }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "colonnade-story-"));
    await copyFile(smallFile("flights"), join(folder, "flights.parquet"));
    await writeFile(join(folder, "airports.csv"), AIRPORTS);
    await use(folder);
    await rm(folder, { recursive: true });
  },
  server: async ({ folder }, use) => {
    const server = await Server.start([folder]);
    await use(server);
    await server.kill();
  },
});

const rowsText = (count: number) => `${count.toLocaleString("en")} rows`;

/** Types into the editor and accepts the first completion. */
async function typeAndTake(page: Page, text: string, name: string): Promise<void> {
  const options = page.getByRole("listbox").getByRole("option");
  await page.keyboard.type(text);
  await expect(options.first()).toContainText(name);
  // A completion list that has just opened ignores keys at first.
  await expect(async () => {
    await page.keyboard.press("Tab");
    await expect(options).toHaveCount(0, { timeout: 500 });
  }).toPass();
}

test("from a folder of files to a shared chart", async ({ page, folder, server, browser }) => {
  await test.step("find the table", async () => {
    await page.goto(server.origin);
    await expect(page.getByRole("link", { name: /^airports\b/ })).toBeVisible();
    await page.getByRole("searchbox", { name: "Filter tables" }).fill("delay");
    await expect(page.getByRole("link", { name: /^airports\b/ })).toHaveCount(0);
    await chooseTable(page, "flights");
    await expect(page.getByRole("gridcell").first()).toBeVisible();
  });

  await test.step("read column summaries", async () => {
    await expect(status(page)).toContainText(SMALL_COMPLETE);
    const [[least, greatest, differing] = []] = await server.answer(
      "select min(origin), max(origin), count(distinct origin) from flights",
    );
    await expect(header(page, "origin")).toHaveAttribute(
      "aria-description",
      new RegExp(`^${least} to ${greatest}, length 3, ${differing} distinct, no nulls`),
    );
  });

  // Chicago has the most flights of these cities.
  const [row] = await server.answer("select count(*) from flights where origin = 'ORD'");
  const rows = Number(row?.[0]);
  await test.step("filter and sort", async () => {
    await openMenu(page, "origin");
    const menu = page.getByRole("dialog", { name: "Column origin" });
    await menu.getByRole("combobox").selectOption("Is exactly");
    await menu.getByRole("textbox", { name: "Text" }).fill("ORD");
    await menu.getByRole("button", { name: "Apply filter" }).click();
    await expect(status(page)).toContainText(rowsText(rows));
    await header(page, "delay").focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await expect(header(page, "delay")).toHaveAttribute("aria-sort", "descending");
    await expect(cell(page, 0, 4)).toHaveText("ORD");
  });

  await test.step("write SQL with completion", async () => {
    await page.getByRole("button", { name: "New statement" }).click();
    await page.getByRole("textbox", { name: "SQL" }).click();
    await expect(page.locator(".cm-content")).toBeFocused();
    await typeAndTake(page, "SELECT city, date, delay FROM flights JOIN air", "airports");
    await page.keyboard.type(" ON code = origin ORDER BY date, delay");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Enter");
    await expect(status(page)).toContainText("Complete: ");
    await expect(header(page, "city")).toBeVisible();
  });

  await test.step("open a chart and brush it", async () => {
    await page.getByRole("button", { name: "Chart", exact: true }).click();
    const bars = page.getByRole("application", { name: "Rows by city" });
    await expect(bars).toBeVisible();
    await bars.focus();
    // The first bar is the city with the most flights.
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("button", { name: "Clear selection" })).toBeVisible();
    await expect(status(page)).toContainText(rowsText(rows));
    await expect(cell(page, 0, 1)).toHaveText("Chicago");
  });

  await test.step("export", async () => {
    await page.getByRole("button", { name: "Export" }).click();
    const download = page.waitForEvent("download");
    const dialog = page.getByRole("dialog", { name: "Export" });
    await dialog.getByRole("button", { name: /^CSV Text/ }).click();
    const path = join(folder, "saved.txt");
    await (await download).saveAs(path);
    const lines = (await readFile(path, "utf8")).trimEnd().split(/\r?\n/);
    expect(lines[0]).toBe("city,date,delay");
    expect(lines).toHaveLength(1 + rows);
    expect(lines.slice(1).every((line) => line.startsWith("Chicago,"))).toBe(true);
  });

  await test.step("share the link", async () => {
    const shown = await textOf(cell(page, 3, 2));
    await page.getByRole("button", { name: "Copy link" }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const context = await browser.newContext();
    const other = await context.newPage();
    await other.goto(link);
    await expect(status(other)).toContainText(rowsText(rows));
    await expect(cell(other, 0, 1)).toHaveText("Chicago");
    await expect(cell(other, 3, 2)).toHaveText(shown);
    await expect(other.getByRole("application", { name: "Rows by city" })).toBeVisible();
    await expect(other.getByRole("button", { name: "Clear selection" })).toBeVisible();
    await context.close();
  });
});
