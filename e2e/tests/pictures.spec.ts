// The README's pictures, from the real page. `npm run pictures` makes them; otherwise these tests fail if
// the page no longer looks like them.

import type { Page } from "@playwright/test";
import { chooseTable, chromiumOnly, expect, test } from "./fixtures.js";
import { CuttingProxy } from "./proxy.js";

/** Bytes of responses after which the connection stalls; all of lineitem is about 1 GB. */
const ARRIVED_BYTES = 400_000_000;

const CHARTS = [
  ["line", "date", "delay", "mean", "origin"],
  ["histogram", "delay"],
];

/**
 * Compares what the page offers (roles and names, without rows and numbers) with `outline`, and its pixels
 * with `picture`. A tenth of the pixels may differ, because other machines have other fonts.
 */
async function expectPicture(page: Page, outline: string, picture: string): Promise<void> {
  const lines = (await page.locator("body").ariaSnapshot()).split("\n");
  const offered = lines.filter((line) => !/- (?:row|gridcell|text|status)\b/.test(line));
  const text = offered.join("\n").replaceAll(/\d+/g, "#");
  expect(`${text}\n`).toMatchSnapshot(`${outline}.txt`);
  expect(await page.screenshot()).toMatchSnapshot(`${picture}.png`, { maxDiffPixelRatio: 0.1 });
}

test(
  "rows that are still arriving",
  chromiumOnly("the pictures are Chromium's"),
  async ({ page, demo }) => {
    const proxy = await CuttingProxy.start(demo.origin);
    // Never resolves, so that the connection stalls instead of being cut.
    proxy.cuts = [{ at: ARRIVED_BYTES, by: "reset", meanwhile: () => new Promise(() => {}) }];
    try {
      await page.goto(proxy.origin);
      await chooseTable(page, "lineitem");
      await expect(page.getByRole("progressbar")).toBeVisible();
      await expect(page.getByRole("status")).toContainText(/2,3\d\d,\d{3} of 6,001,215 rows/, {
        timeout: 90_000,
      });
      await expect(page.getByRole("slider")).toHaveCount(7);
      await expectPicture(page, "arriving", "arriving");
    } finally {
      await proxy.close();
    }
  },
);

test(
  "charts beside the rows",
  chromiumOnly("the pictures are Chromium's"),
  async ({ page, demo }) => {
    const address = { table: "flights", chart: JSON.stringify(CHARTS) };
    await page.goto(`${demo.origin}/?${new URLSearchParams(address)}`);
    await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
    await expect(page.getByRole("slider")).toHaveCount(4);
    await expect(page.getByRole("application")).toHaveCount(CHARTS.length);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expectPicture(page, "charts", `charts-${colorScheme}`);
    }
  },
);
