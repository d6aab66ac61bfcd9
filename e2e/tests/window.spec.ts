import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.js";

/** Expects that the page itself does not scroll: what is longer than the window scrolls within it. */
async function expectNoPageScroll(page: Page): Promise<void> {
  const overflowPx = await page.evaluate(() => {
    const { scrollHeight, clientHeight, scrollWidth, clientWidth } = document.documentElement;
    return { down: scrollHeight - clientHeight, across: scrollWidth - clientWidth };
  });
  expect(overflowPx).toEqual({ down: 0, across: 0 });
}

for (const width of [1440, 400]) {
  test(`the page is not larger than a window of ${width} px`, async ({ page, demo }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(demo.origin);
    await expect(page.getByRole("textbox", { name: "SQL" })).toBeVisible();
    await expectNoPageScroll(page);
    await page.goto(`${demo.origin}/?table=flights`);
    await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
    await expectNoPageScroll(page);
    await page.getByRole("button", { name: "Chart", exact: true }).click();
    await expect(page.getByRole("application").first()).toBeVisible();
    await expectNoPageScroll(page);
    await page.goto(`${demo.origin}/?table=flights&view=details`);
    await expect(page.getByRole("region", { name: "Columns", exact: true })).toBeVisible();
    await expectNoPageScroll(page);
    await page.getByRole("button", { name: "Queries" }).click();
    await expect(page.getByRole("dialog", { name: "Queries" })).toBeVisible();
    await expectNoPageScroll(page);
  });
}

test("a browser that is too old is told which versions are needed", async ({ page, demo }) => {
  await page.addInitScript(() => Reflect.deleteProperty(Promise, "withResolvers"));
  await page.goto(demo.origin);
  await expect(page.locator("body")).toHaveText(
    "Colonnade needs Chrome 123, Firefox 125 or Safari 17.5, or later. This browser does not have: Promise.withResolvers.",
  );
});
