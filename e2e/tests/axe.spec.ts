import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { chooseTable, expect, test } from "./fixtures.js";

async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
}

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in ${colorScheme}`, () => {
    test.use({ colorScheme });

    test("the list, a stream, its end and an error are accessible", async ({ page, demo }) => {
      await page.goto(demo.origin);
      await expect(page.getByRole("link", { name: /^flights\b/ })).toBeVisible();
      await expectAccessible(page);
      await chooseTable(page, "flights");
      await expect(page.getByRole("gridcell").first()).toBeVisible();
      await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
      await expectAccessible(page);
      await page.getByRole("textbox", { name: "SQL" }).fill("select nothing from flights");
      await page.getByRole("button", { name: "Run" }).click();
      await expect(page.getByRole("alert")).toBeVisible();
      await expectAccessible(page);
    });
  });
}
