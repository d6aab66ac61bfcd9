import type { Page } from "@playwright/test";
import { test as base, cell, clickOn, expect, viewer } from "./viewer.js";

// The tooltip beside the scrollbar's thumb. Headless browsers hide scrollbars by default.

const test = base.extend({
  launchOptions: [
    async ({ launchOptions }, use) =>
      use({ ...launchOptions, ignoreDefaultArgs: ["--hide-scrollbars"] }),
    { scope: "worker" },
  ],
});

const tip = (page: Page) => viewer(page).locator(".thumb-tip");

/** The number of the row in the tip; 0 while that row does not cross the header's lower edge. */
function shownRow(page: Page): Promise<number> {
  return tip(page).evaluate((tip) => {
    const grid = tip.closest("[role=grid]");
    const rowNumber = Number(tip.textContent?.replace(/\D/g, ""));
    const row = grid?.querySelector(`[aria-rowindex="${rowNumber + 1}"] [role=gridcell]`);
    const { top = 0, bottom = 0 } = row?.getBoundingClientRect() ?? {};
    const edge = grid?.querySelector("[role=columnheader]")?.getBoundingClientRect().bottom ?? 0;
    return top <= edge + 1 && bottom >= edge ? rowNumber : 0;
  });
}

/** A point on the vertical scrollbar's thumb at the top, and the grid's height. */
async function thumb(page: Page): Promise<{ x: number; y: number; height: number }> {
  const grid = page.getByRole("grid");
  const { x, y, height } = (await grid.boundingBox()) ?? { x: 0, y: 0, height: 0 };
  const [inner, outer] = await grid.evaluate((element) => [
    element.clientWidth,
    (element as HTMLElement).offsetWidth,
  ]);
  expect(outer, "there is a scrollbar").toBeGreaterThan(inner ?? 0);
  return { x: x + ((inner ?? 0) + (outer ?? 0)) / 2, y: y + 22, height };
}

test("dragging the thumb shows the exact first row until it is released", async ({
  page,
  stage,
}) => {
  await stage.show("/v1/tables/flights/rows");
  const { x, y, height } = await thumb(page);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await expect(tip(page)).toBeHidden();
  for (const part of [0.3, 0.6, 0.45]) {
    await page.mouse.move(x, y + part * height, { steps: 5 });
    await expect(tip(page)).toBeVisible();
    await expect.poll(() => shownRow(page)).toBeGreaterThan(100_000);
    const { y: tipY = 0, height: tipHeight = 0 } = (await tip(page).boundingBox()) ?? {};
    expect(Math.abs(tipY + tipHeight / 2 - (y + part * height))).toBeLessThan(40);
  }
  await expect(tip(page)).toHaveAttribute("aria-hidden", "true");
  await page.mouse.up();
  await expect(tip(page)).toBeHidden();
});

test("the wheel, keys and short tables show no tooltip", async ({ page, stage }) => {
  await stage.show("/v1/tables/flights/rows?limit=100000");
  await clickOn(cell(page, 0, 1));
  await page.keyboard.press("PageDown");
  await page.mouse.wheel(0, 3000);
  await expect(cell(page, 0, 1)).not.toBeInViewport();
  await expect(tip(page)).toBeHidden();

  await stage.show("/v1/tables/every_type/rows");
  const { x, y } = await thumb(page);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y + 100, { steps: 4 });
  await expect(cell(page, 0, 1)).not.toBeInViewport();
  await expect(tip(page)).toBeHidden();
  await page.mouse.up();
});
