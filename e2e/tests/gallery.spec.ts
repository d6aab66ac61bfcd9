import type { FrameLocator, Page } from "@playwright/test";
import { gallery } from "../../scripts/examples.mjs";
import type { Site } from "../../scripts/site.mjs";
import { expectAccessible } from "./accessible.js";
import { test as base, cell, chromiumOnly, expect, textOf } from "./fixtures.js";
import { inCheckout, Server, smallTables } from "./server.js";

const test = base.extend<{ tables: string[]; site: Site }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  tables: async ({}, use) => use(smallTables()),
  site: async ({ tables }, use) => {
    const site = gallery();
    await site.listen();
    const server = await Server.start([...tables, "--allow-origin", site.origin]);
    site.upstream = server.origin;
    await use(site);
    site.close();
    await server.kill();
  },
});

/** An example that runs in the gallery. */
function example(page: Page, id: string): FrameLocator {
  return page.frameLocator(`#${id} iframe`);
}

test(
  "each example runs beside its source",
  chromiumOnly("Firefox's driver cannot choose files in frames"),
  async ({ page, site }) => {
    await page.goto(site.origin);
    const articles = page.getByRole("article");
    await expect(articles).toHaveCount(7);
    for (const article of await articles.all()) {
      const id = await article.getAttribute("id");
      await article.scrollIntoViewIfNeeded();
      const source = await (await page.request.get(`${site.origin}/${id}.html`)).text();
      await expect(article.getByRole("region")).toHaveText(source);
      const frame = example(page, id ?? "");
      if (id === "file") {
        await frame.getByLabel(/Arrow/).setInputFiles(inCheckout("fixtures/every_type.arrows"));
      }
      await expect(frame.getByRole("gridcell").first()).toBeVisible();
    }
  },
);

test("a selection in one viewer filters the other, also after sorting", async ({ page, site }) => {
  await page.goto(`${site.origin}/linked.html`);
  const [airports, flights] = [
    page.locator("colonnade-viewer").first(),
    page.locator("colonnade-viewer").last(),
  ];
  for (const column of [undefined, "origin"]) {
    if (column !== undefined) {
      await airports.getByRole("columnheader", { name: column }).click();
      await expect(airports.getByRole("columnheader", { name: column })).toHaveAttribute(
        "aria-sort",
        "ascending",
      );
      // Until the rows are sorted, a row's element can become that of another row under the pointer.
      const first = airports.locator('[role=row][aria-rowindex="2"] [role=gridcell]').first();
      await expect(first).toHaveText("ABE");
    }
    const chosen = airports.locator('[role=row][aria-rowindex="3"] [role=gridcell]').first();
    await chosen.click();
    const origin = await textOf(chosen);
    await expect(flights.getByRole("status")).toContainText("filtered by origin");
    await expect(flights.getByRole("group", { name: "Filters" })).toContainText(
      `origin = ${origin}`,
    );
  }
});

test("a saved view is restored after a reload", async ({ page, site }) => {
  await page.goto(`${site.origin}/state.html`);
  const delay = page.getByRole("columnheader", { name: /^delay/ });
  await expect(delay).toHaveAttribute("aria-sort", "descending");
  await page.getByRole("columnheader", { name: /^destination/ }).click();
  await expect(page.getByRole("status")).toContainText(/^Complete.*sorted by destination/);
  await page.reload();
  await expect(page.getByRole("status")).toContainText("sorted by destination");
  await expect(delay).toHaveAttribute("aria-sort", "none");
});

test.describe("large tables", () => {
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  test.use({ tables: async ({}, use) => use([]) });

  test("the selection example reports cells, and the windowed example shows its start row", async ({
    page,
    site,
  }) => {
    await page.goto(`${site.origin}/selection.html`);
    await cell(page, 1, 2).click();
    await cell(page, 3, 3).click({ modifiers: ["Shift"] });
    await expect(page.locator("output")).toContainText("3 × 2 cells");
    await page.goto(`${site.origin}/windowed.html`);
    await expect(page.getByRole("status")).toContainText("Windowed");
    await expect(cell(page, 3_000_000, 1)).toBeVisible();
  });
});

test("the gallery is accessible", async ({ page, site }) => {
  await page.goto(site.origin);
  await expect(example(page, "minimal").getByRole("gridcell").first()).toBeVisible();
  await expectAccessible(page, (axe) => axe.exclude("iframe"));
});
