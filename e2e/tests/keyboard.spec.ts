import { cell, expect, goToRow, SMALL_COMPLETE, test } from "./fixtures.js";

test.beforeEach(async ({ page, small }) => {
  await page.goto(`${small.origin}/?table=flights`);
  await expect(page.getByRole("status")).toContainText(SMALL_COMPLETE);
});

test("every cell of the grid can be reached by keyboard", { tag: "@firefox" }, async ({ page }) => {
  await cell(page, 0, 1).click();
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
  await expect(cell(page, 99_999, columns)).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(cell(page, 99_998, columns)).toBeFocused();
  await page.keyboard.press("PageUp");
  await expect(cell(page, 99_998, columns)).toHaveCount(0);
  await page.keyboard.press("Control+Home");
  await expect(cell(page, 0, 1)).toBeFocused();
  await page.keyboard.press("PageDown");
  await expect(cell(page, 0, 1)).toHaveCount(0);
});

test("Go to row shows exactly that row, and the wheel scrolls on from there", async ({ page }) => {
  await goToRow(page, 50_000);
  await expect(cell(page, 49_999, 1)).toBeVisible();
  await cell(page, 49_999, 1).hover();
  await page.mouse.wheel(0, 400);
  await expect(cell(page, 50_020, 1)).toBeVisible();
  await expect(cell(page, 49_900, 1)).toHaveCount(0);
});

test("a focused cell that is scrolled out of view keeps the keyboard usable", async ({ page }) => {
  await cell(page, 0, 1).click();
  await goToRow(page, 80_000);
  await expect(cell(page, 0, 1)).toHaveCount(0);
  await page.getByRole("grid").focus();
  await page.keyboard.press("Control+Home");
  await expect(cell(page, 0, 1)).toBeFocused();
});

test("Ctrl with arrow keys goes to the edge, and Tab leaves the grid and returns", async ({
  page,
}) => {
  const columns = Number(await page.getByRole("grid").getAttribute("aria-colcount"));
  await cell(page, 5, 2).click();
  await page.keyboard.press("Control+ArrowRight");
  await expect(cell(page, 5, columns)).toBeFocused();
  await page.keyboard.press("Control+ArrowDown");
  await expect(cell(page, 99_999, columns)).toBeFocused();
  await page.keyboard.press("Control+ArrowLeft");
  await expect(cell(page, 99_999, 1)).toBeFocused();
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
