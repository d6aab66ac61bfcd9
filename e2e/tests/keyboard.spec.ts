import { cell, clickOn, expect, goToRow, pointAt, test } from "./fixtures.js";

test.beforeEach(async ({ page, demo }) => {
  await page.goto(`${demo.origin}/?table=flights`);
  await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows", {
    timeout: 60_000,
  });
});

test("every cell of the grid can be reached by keyboard", async ({ page }) => {
  await clickOn(cell(page, 0, 1));
  await expect(cell(page, 0, 1)).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await expect(cell(page, 1, 2)).toBeFocused();
  await page.keyboard.press("End");
  const columns = Number(await page.getByRole("grid").getAttribute("aria-colcount"));
  await expect(cell(page, 1, columns)).toBeFocused();
  await page.keyboard.press("Home");
  await expect(cell(page, 1, 1)).toBeFocused();
  await page.keyboard.press("Control+End");
  await expect(cell(page, 2_999_999, columns)).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(cell(page, 2_999_998, columns)).toBeFocused();
  await page.keyboard.press("PageUp");
  await expect(cell(page, 2_999_998, columns)).toHaveCount(0);
  await page.keyboard.press("Control+Home");
  await expect(cell(page, 0, 1)).toBeFocused();
  await page.keyboard.press("PageDown");
  await expect(cell(page, 0, 1)).toHaveCount(0);
});

test("Go to row shows exactly that row, and the wheel scrolls on from there", async ({ page }) => {
  await goToRow(page, 1_500_000);
  await expect(cell(page, 1_499_999, 1)).toBeVisible();
  await pointAt(cell(page, 1_499_999, 1));
  await page.mouse.wheel(0, 400);
  await expect(cell(page, 1_500_020, 1)).toBeVisible();
  await expect(cell(page, 1_400_000, 1)).toHaveCount(0);
});

test("a focused cell that is scrolled out of view keeps the keyboard usable", async ({ page }) => {
  await clickOn(cell(page, 0, 1));
  await goToRow(page, 2_000_000);
  await expect(cell(page, 0, 1)).toHaveCount(0);
  await page.getByRole("grid").focus();
  await page.keyboard.press("Control+Home");
  await expect(cell(page, 0, 1)).toBeFocused();
});

test("Ctrl with arrow keys goes to the edge, and Tab leaves the grid and returns", async ({
  page,
}) => {
  const columns = Number(await page.getByRole("grid").getAttribute("aria-colcount"));
  await clickOn(cell(page, 5, 2));
  await page.keyboard.press("Control+ArrowRight");
  await expect(cell(page, 5, columns)).toBeFocused();
  await page.keyboard.press("Control+ArrowDown");
  await expect(cell(page, 2_999_999, columns)).toBeFocused();
  await page.keyboard.press("Control+ArrowLeft");
  await expect(cell(page, 2_999_999, 1)).toBeFocused();
  await page.keyboard.press("Control+ArrowUp");
  await expect(cell(page, 0, 1)).toBeFocused();
  await page.keyboard.press("Shift+ArrowDown");
  await expect(cell(page, 0, 1)).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Escape");
  await expect(cell(page, 1, 1)).toBeFocused();
  await expect(cell(page, 0, 1)).toHaveAttribute("aria-selected", "false");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("grid").locator(":focus")).toHaveCount(0);
  await page.keyboard.press("Shift+Tab");
  await expect(cell(page, 1, 1)).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await expect(page.getByRole("columnheader").first()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(cell(page, 0, 1)).toBeFocused();
});
