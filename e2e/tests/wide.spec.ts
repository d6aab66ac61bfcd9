// Two thousand columns: only visible cells are rendered, and every column can be reached.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server } from "./server.js";
import { cell, clickOn, expect, test, viewer } from "./viewer.js";

const NUM_COLUMNS = 2000;
const NUM_ROWS = 300;

test("every one of 2,000 columns can be reached, and few cells are rendered", async ({
  page,
  pages,
}) => {
  const folder = mkdtempSync(join(tmpdir(), "colonnade-wide-"));
  const line = (value: (column: number) => string) =>
    Array.from({ length: NUM_COLUMNS }, (_, column) => value(column)).join(",");
  const rows = Array.from({ length: NUM_ROWS }, (_, row) => line((column) => `${row}:${column}`));
  writeFileSync(join(folder, "wide.csv"), [line((column) => `c${column}`), ...rows].join("\n"));
  const server = await Server.start([folder, "--allow-origin", pages.origin]);
  try {
    const src = `${server.origin}/v1/tables/wide/rows`;
    await page.goto(`${pages.origin}/?${new URLSearchParams({ src })}`);
    await expect(page.getByRole("status")).toContainText("Complete: 300 rows");
    await expect(page.getByRole("grid")).toHaveAttribute("aria-colcount", String(NUM_COLUMNS));
    await expect(cell(page, 0, 1)).toHaveText("0:0");
    await clickOn(cell(page, 0, 1));
    await page.keyboard.press("Control+ArrowRight");
    await expect(cell(page, 0, NUM_COLUMNS)).toBeFocused();
    await expect(cell(page, 0, NUM_COLUMNS)).toHaveText(`0:${NUM_COLUMNS - 1}`);
    await page.keyboard.press("Control+End");
    await expect(cell(page, NUM_ROWS - 1, NUM_COLUMNS)).toHaveText("299:1999");
    const mounted = await page.getByRole("gridcell", { includeHidden: true }).count();
    expect(mounted).toBeLessThan(2000);
    await viewer(page).evaluate((element) => {
      (element as unknown as { columns: string[] }).columns = ["c1999", "c0"];
    });
    await expect(page.getByRole("columnheader")).toHaveText([/^c1999/, /^c0/]);
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true });
  }
});
