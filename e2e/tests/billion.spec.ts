// A billion rows of a Parquet file, read by row number in a tab with a memory budget of 128 MiB.

import { existsSync, readFileSync } from "node:fs";
import type { Browser, Page } from "@playwright/test";
import { hasPython, pythonFile } from "./readers.js";
import { demoFile, inCheckout, Server } from "./server.js";
import { test as base, cell, chromiumOnly, expect, goToRow, pressAt } from "./viewer.js";

const NUM_ROWS = 1_000_000_000;
const FILE = demoFile("billion.parquet");
/** The limit for the tab's own memory. Other resident memory is the browser's, shared by all tabs. */
const MAX_TAB_BYTES = 300 * 2 ** 20;

const test = base.extend<object, { origin: string }>({
  origin: [
    async ({ pageServer }, use) => {
      // Writing the file takes half a minute, so it is kept.
      if (!existsSync(FILE)) pythonFile(inCheckout("fixtures/make_billion.py"), [FILE]);
      const server = await Server.start([FILE, "--allow-origin", pageServer.origin]);
      await use(server.origin);
      await server.kill();
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

// One worker writes the file.
test.describe.configure({ mode: "default" });
test.skip(!hasPython && !existsSync(FILE), "pyarrow is not installed");

test.beforeEach(async ({ page, pages, origin }) => {
  const src = `${origin}/v1/tables/billion/rows`;
  await page.goto(`${pages.origin}/?${new URLSearchParams({ memory: "128MiB", src })}`);
  await expect(page.getByRole("status")).toContainText("Windowed", { timeout: 60_000 });
});

/** The 0-based numbers of the visible rows, in order, once each of them shows its values. */
async function rowsInSight(page: Page): Promise<number[]> {
  let rows: { row: number; texts: string[] }[] = [];
  await expect(async () => {
    rows = await page.getByRole("grid").evaluate((grid) => {
      const top = grid.querySelector("[role=columnheader]")?.getBoundingClientRect().bottom ?? 0;
      const { bottom } = grid.getBoundingClientRect();
      return [...grid.querySelectorAll("[role=row][aria-rowindex]")]
        .filter((row) => row.querySelector("[role=gridcell]") !== null)
        .filter((row) => {
          const box = row.getBoundingClientRect();
          return box.bottom > top && box.top < bottom;
        })
        .map((row) => ({
          row: Number(row.getAttribute("aria-rowindex")) - 2,
          texts: [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent ?? ""),
        }))
        .sort((a, b) => a.row - b.row);
    });
    expect(rows.length).toBeGreaterThan(15);
    for (const { row, texts } of rows) expect(texts).toEqual(textsOf(row));
  }).toPass({ timeout: 30_000 });
  const numbers = rows.map(({ row }) => row);
  expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
  return numbers;
}

/** The texts of row `row` of the file. */
function textsOf(row: number): string[] {
  const at = new Date(row * 1000).toISOString().replace("T", " ");
  return [String(row), at, String(Math.floor(row / 2 ** 20))];
}

/**
 * The memory of the tab's process in bytes: `own` is private, `resident` includes shared memory. The tab
 * is the largest renderer process, because Chromium keeps a spare one for the next tab.
 */
async function tabBytes(browser: Browser): Promise<{ own: number; resident: number }> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const renderers = processInfo.filter(({ type }) => type === "renderer");
  const sizes = renderers.map(({ id }) => {
    const rollup = readFileSync(`/proc/${id}/smaps_rollup`, "utf8");
    const bytes = (name: string) =>
      Number(new RegExp(`^${name}: +(\\d+)`, "m").exec(rollup)?.[1]) * 1024;
    return { own: bytes("Private_Clean") + bytes("Private_Dirty"), resident: bytes("Rss") };
  });
  return sizes.reduce((a, b) => (b.own > a.own ? b : a));
}

test(
  "go to row shows the right rows, and the tab stays within its memory",
  chromiumOnly("speaks the DevTools protocol", "@full"),
  async ({ page, browser }) => {
    await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", `${NUM_ROWS + 1}`);
    for (const number of [1, 500_000_000, NUM_ROWS, 123_456_789]) {
      await goToRow(page, number);
      await expect(cell(page, number - 1, 1)).toHaveText(String(number - 1));
      expect(await rowsInSight(page)).toContain(number - 1);
    }
    if (process.platform === "linux") {
      const { own, resident } = await tabBytes(browser);
      console.info(`the tab: ${own >> 20} MiB of its own, ${resident >> 20} MiB resident`);
      expect(own).toBeLessThan(MAX_TAB_BYTES);
    }
  },
);

for (const number of [1, 500_000_000, NUM_ROWS]) {
  const tag = number === NUM_ROWS ? [] : "@full";
  test(`wheel, arrows and Page keys around row ${number}`, { tag }, async ({ page }) => {
    await goToRow(page, number);
    await expect(cell(page, number - 1, 1)).toHaveText(String(number - 1));
    const [before = 0] = await rowsInSight(page);
    await page.getByRole("grid").hover();
    const direction = number === NUM_ROWS ? -1 : 1;
    for (let notch = 0; notch < 5; notch++) await page.mouse.wheel(0, direction * 120);
    // Five notches of 120 px are 20 rows of 30 px.
    await expect.poll(async () => Math.abs(((await rowsInSight(page))[0] ?? 0) - before)).toBe(20);

    const start = (await rowsInSight(page))[5] ?? 0;
    await pressAt(page, start, 1);
    await page.keyboard.press("ArrowDown");
    await expect(cell(page, start + 1, 1)).toBeFocused();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await expect(cell(page, start - 1, 1)).toBeFocused();
    const key = direction > 0 ? "PageDown" : "PageUp";
    await page.keyboard.press(key);
    await expect(cell(page, start - 1, 1)).toHaveCount(0);
    const moved = await rowsInSight(page);
    expect(Math.abs((moved[0] ?? 0) - start)).toBeLessThan(50);
    await page.keyboard.press("Control+End");
    await expect(cell(page, NUM_ROWS - 1, 3)).toBeFocused();
    expect((await rowsInSight(page)).at(-1)).toBe(NUM_ROWS - 1);
    await page.keyboard.press("Control+Home");
    await expect(cell(page, 0, 1)).toBeFocused();
    expect((await rowsInSight(page))[0]).toBe(0);
  });
}

for (const numRows of [1, 1000, 333_334, 10_000_000]) {
  const tag = numRows === 10_000_000 ? [] : "@full";
  test(`a result of ${numRows} rows has an exact row count and last row`, { tag }, async ({
    page,
    pages,
    origin,
  }) => {
    const src = `${origin}/v1/tables/billion/rows?limit=${numRows}`;
    await page.goto(`${pages.origin}/?${new URLSearchParams({ memory: "128MiB", src })}`);
    await expect(page.getByRole("status")).toContainText(
      `${numRows.toLocaleString("en")} row${numRows === 1 ? "" : "s"}`,
    );
    await expect(page.getByRole("status")).toContainText(/^(?:Complete|Windowed)/);
    await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", String(numRows + 1));
    await cell(page, 0, 1).click();
    await page.keyboard.press("Control+End");
    await expect(cell(page, numRows - 1, 3)).toBeFocused();
    for (const row of [numRows - 1, numRows >> 1, 0]) {
      await goToRow(page, row + 1);
      for (const [column, text] of textsOf(row).entries()) {
        await expect(cell(page, row, column + 1)).toHaveText(text);
      }
      await expect(cell(page, row, 1)).toBeInViewport({ ratio: 0.9 });
    }
  });
}
