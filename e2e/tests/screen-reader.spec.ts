// What screen readers do and find.

import { cell, clickOn, expect, test } from "./viewer.js";

test("a cell that a screen reader focuses is the active one", async ({ page, stage }) => {
  await stage.show("/v1/tables/lineitem/rows?limit=1000");
  await clickOn(cell(page, 0, 1));
  await cell(page, 4, 3).evaluate((element) => (element as HTMLElement).focus());
  await expect(cell(page, 4, 3)).toHaveAttribute("tabindex", "0");
  await expect(cell(page, 0, 1)).toHaveAttribute("tabindex", "-1");
  await page.keyboard.press("ArrowRight");
  await expect(cell(page, 4, 4)).toBeFocused();
});

test("rows are in reading order while a table streams", async ({ page, pages, server }) => {
  const src = `${server.origin}/v1/tables/lineitem/rows`;
  await page.goto(`${pages.origin}/?${new URLSearchParams({ src })}`);
  const status = page.getByRole("status");
  await expect(cell(page, 0, 1)).toBeVisible();
  const indices = () =>
    page
      .getByRole("row")
      .evaluateAll((all) => all.map((each) => Number(each.ariaRowIndex)).filter(Boolean));
  await page.getByRole("grid").hover();
  await page.mouse.wheel(0, 900);
  await expect(cell(page, 30, 1)).toBeVisible();
  await expect
    .poll(async () => {
      const found = await indices();
      return (
        found.length > 10 && found.every((each, at) => at === 0 || each > (found[at - 1] ?? 0))
      );
    })
    .toBe(true);
  await expect(status).not.toContainText("Complete");
  await page.getByRole("button", { name: "Cancel" }).click();
});
