// The places of panels.

import type { Locator } from "@playwright/test";
import { expect, test } from "./viewer.js";

test("an open panel follows its header or button", async ({ page, stage }) => {
  await stage.show("/v1/tables/lineitem/rows?limit=1000");
  const header = page.getByRole("columnheader", { name: /^l_partkey\b/ });
  const distance = async (of: Locator, panel: Locator) => {
    const [at, box] = [await of.boundingBox(), await panel.boundingBox()];
    return [(box?.x ?? 0) - (at?.x ?? 0), (box?.y ?? 0) - (at?.y ?? 0) - (at?.height ?? 0)];
  };
  await header.click({ button: "right" });
  const menu = page.getByRole("dialog", { name: "Column l_partkey" });
  await expect.poll(() => distance(header, menu)).toEqual([0, 0]);
  const before = await menu.boundingBox();
  // The page changes around the element.
  await page.evaluate(() => {
    const note = document.createElement("p");
    note.style.height = "60px";
    document.body.style.paddingLeft = "30px";
    document.body.prepend(note);
  });
  await expect.poll(async () => (await menu.boundingBox())?.y).toBeGreaterThan(before?.y ?? 0);
  await expect.poll(() => distance(header, menu)).toEqual([0, 0]);
  await page.getByRole("grid").evaluate((grid) => grid.scrollBy(40, 0));
  await expect.poll(() => distance(header, menu)).toEqual([0, 0]);
});
