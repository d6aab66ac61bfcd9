import { expectAccessible, expectGrid } from "./accessible.js";
import { cell, chooseTable, expect, test } from "./fixtures.js";

// States that only a server that misbehaves brings are in states.spec.ts.

test("the list, a stream, its end and an error are accessible", async ({ page, demo }) => {
  await page.goto(demo.origin);
  await expect(page.getByRole("link", { name: /^flights\b/ })).toBeVisible();
  await expectAccessible(page, "page");
  await chooseTable(page, "flights");
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
  await expectAccessible(page, "page");
  await expectGrid(page);
  await page.getByRole("textbox", { name: "SQL" }).fill("select nothing from flights");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expectAccessible(page, "page");
});

test("what opens over the rows is accessible", async ({ page, demo }) => {
  await page.goto(`${demo.origin}/?table=every_type`);
  await expect(page.getByRole("status")).toContainText("Complete: 24 rows");
  await page.getByRole("columnheader").first().click({ button: "right" });
  await expect(page.getByRole("dialog", { name: /^Column / })).toBeVisible();
  await expectAccessible(page, "page");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Columns", exact: true }).click();
  await expect(page.getByRole("dialog", { name: "Columns", exact: true })).toBeVisible();
  await expectAccessible(page, "page");
  await page.keyboard.press("Escape");
  await cell(page, 1, 1).click();
  await page.keyboard.press("F2");
  await expect(page.getByRole("dialog")).toBeVisible();
  await expectAccessible(page, "page");
  await page.keyboard.press("Escape");
  await expect(cell(page, 1, 1)).toBeFocused();
  await page.keyboard.press("Control+f");
  await page.getByPlaceholder("Find").fill("1");
  await expect(page.getByText(/match [\d,]+ of/)).toBeVisible();
  await expectAccessible(page, "page");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+a");
  await expect(page.getByRole("button", { name: "Copy", exact: true })).toBeVisible();
  await expectAccessible(page, "page");
  await expectGrid(page);
});
