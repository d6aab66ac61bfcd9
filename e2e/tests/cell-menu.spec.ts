import type { Page } from "@playwright/test";
import { elementAlone, expectAccessible } from "./accessible.js";
import { cell, expect, FLIGHTS, lastReported, show, status, test, textOf } from "./columns.js";
import { chromiumOnly } from "./fixtures.js";

const menu = (page: Page) => page.getByRole("menu");
const item = (page: Page, name: string | RegExp) => menu(page).getByRole("menuitem", { name });

/** Opens the menu of a cell by a right click. */
async function openCellMenu(page: Page, row: number, column: number): Promise<void> {
  await textOf(cell(page, row, column));
  await cell(page, row, column).click({ button: "right" });
  await expect(menu(page)).toBeVisible();
}

test("a right click filters by the value of a cell", { tag: "@firefox" }, async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS);
  const origin = await textOf(cell(page, 3, 4));
  await openCellMenu(page, 3, 4);
  await expect(menu(page)).toHaveAccessibleName("origin, row 4");
  await expect(menu(page).getByRole("menuitem")).toHaveText([
    `Equals ${origin}`,
    `Does not equal ${origin}`,
    "Copy",
    "Inspect",
  ]);
  await item(page, `Equals ${origin}`).click();
  await expect(menu(page)).toHaveCount(0);
  const equals = { op: "eq", column: "origin", value: origin };
  await expect.poll(() => lastReported(page, "filter")).toEqual(equals);
  await expect(cell(page, 0, 4)).toHaveText(origin);

  // The cell of a number also offers its bounds, which join the filter.
  const delay = await textOf(cell(page, 0, 2));
  await openCellMenu(page, 0, 2);
  await item(page, `Greater than ${delay}`).click();
  const above = { op: "gt", column: "delay", value: delay };
  await expect.poll(() => lastReported(page, "filter")).toEqual({ and: [equals, above] });

  // The opposite of what is filtered takes its place.
  await openCellMenu(page, 0, 4);
  await item(page, `Does not equal ${origin}`).click();
  const differs = { op: "ne", column: "origin", value: origin };
  const { and } = (await lastReported(page, "filter")) as { and: unknown[] };
  expect(and).toHaveLength(2);
  await expect
    .poll(() => lastReported(page, "filter"))
    .toEqual({ and: [above, { or: [differs, { op: "is_null", column: "origin" }] }] });
  await expect(cell(page, 0, 4)).not.toHaveText(origin);
});

test("keys open the menu, move in it and close it", { tag: "@firefox" }, async ({
  browserName,
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS);
  await cell(page, 2, 2).click();
  // Firefox's driver does not know the other key.
  const keys = browserName === "chromium" ? ["Shift+F10", "ContextMenu"] : ["Shift+F10"];
  for (const key of keys) {
    await page.keyboard.press(key);
    await expect(item(page, /^Equals/)).toBeFocused();
    await page.keyboard.press("ArrowDown");
    await expect(item(page, /^Does not equal/)).toBeFocused();
    await page.keyboard.press("End");
    await expect(item(page, "Inspect")).toBeFocused();
    await page.keyboard.press("ArrowDown");
    await expect(item(page, /^Equals/)).toBeFocused();
    await page.keyboard.press("ArrowUp");
    await expect(item(page, "Inspect")).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(menu(page)).toHaveCount(0);
    await expect(cell(page, 2, 2)).toBeFocused();
  }
  await page.keyboard.press("Shift+F10");
  await expectAccessible(page, elementAlone);
  await item(page, "Inspect").press("Enter");
  await expect(page.getByRole("dialog")).toHaveAccessibleName("delay");
  await page.keyboard.press("Escape");
  await expect(cell(page, 2, 2)).toBeFocused();
  await cell(page, 3, 1).click({ button: "right" });
  await item(page, "Copy").click();
  await expect(status(page).first()).toBeAttached();
  await expect(page.getByText("Copied 1 cell").first()).toBeVisible();
  // A click elsewhere closes it.
  await cell(page, 3, 1).click({ button: "right" });
  await expect(menu(page)).toBeVisible();
  await cell(page, 1, 1).click();
  await expect(menu(page)).toHaveCount(0);
  await expect(cell(page, 1, 1)).toBeFocused();
});

test("the values of several selected cells become a filter", async ({ page, pages, server }) => {
  await show({ page, pages, server }, FLIGHTS);
  await cell(page, 0, 4).click();
  await cell(page, 5, 4).click({ modifiers: ["Shift"] });
  const texts = await Promise.all([0, 1, 2, 3, 4, 5].map((row) => textOf(cell(page, row, 4))));
  const values = [...new Set(texts)];
  await openCellMenu(page, 2, 4);
  await item(page, `Only these ${values.length} values`).click();
  await expect
    .poll(() => lastReported(page, "filter"))
    .toEqual({ op: "in", column: "origin", value: values });
});

test("every type that can be compared is filtered by its exact values", { tag: "@full" }, async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows");
  await cell(page, 0, 1).click();
  const names = await page.locator("colonnade-viewer").evaluate((element) => {
    const { table } = element as unknown as { table: { schema: { fields: { name: string }[] } } };
    return table.schema.fields.map(({ name }) => name);
  });
  const numRows = () =>
    page.locator("colonnade-viewer").evaluate((element) => {
      const { filter, view } = element as unknown as { filter: unknown; view: { numRows: number } };
      return filter === null ? -1 : view.numRows;
    });
  for (const [index, name] of names.entries()) {
    for (const row of [0, 1]) {
      await test.step(`${name}, row ${row + 1}`, async () => {
        if (row === 1) await page.keyboard.press("ArrowDown");
        await expect(cell(page, row, index + 1)).toBeFocused();
        await page.keyboard.press("Shift+F10");
        await expect(menu(page)).toHaveAccessibleName(`${name}, row ${row + 1}`);
        await page.keyboard.press("Enter");
        await expect(page.getByRole("group", { name: "Filters" })).toBeVisible();
        await expect(page.getByRole("progressbar")).toBeHidden();
        await expect(page.getByRole("alert")).toHaveCount(0);
        expect(await numRows()).toBeGreaterThan(0);
        await page.locator("colonnade-viewer").evaluate((element) => {
          Object.assign(element, { filter: null });
        });
        await expect(page.getByRole("group", { name: "Filters" })).toBeHidden();
        await expect(page.getByRole("progressbar")).toBeHidden();
      });
    }
    await page.keyboard.press("ArrowRight");
  }
});

test.describe("by touch", chromiumOnly("speaks the DevTools protocol"), () => {
  test.use({ hasTouch: true });

  test("a finger that rests opens the menu, one that moves does not", async ({
    page,
    pages,
    server,
  }) => {
    await page.clock.install();
    await show({ page, pages, server }, FLIGHTS);
    await textOf(cell(page, 2, 2));
    const box = await cell(page, 2, 2).boundingBox();
    if (box === null) throw new Error("the cell is not shown");
    const session = await page.context().newCDPSession(page);
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", y: number) =>
      session.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: type === "touchEnd" ? [] : [{ x: box.x + 20, y }],
      });
    const y = box.y + 10;
    await touch("touchStart", y);
    await expect(menu(page)).toBeVisible();
    await touch("touchEnd", y);
    await expect(menu(page)).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(menu(page)).toHaveCount(0);
    await touch("touchStart", y);
    for (let step = 1; step <= 10; step++) await touch("touchMove", y + 5 * step);
    await page.clock.runFor(1000);
    await expect(menu(page)).toHaveCount(0);
    await touch("touchEnd", y);
  });

  test("a finger that was lifted before the menu's code arrived opens none", async ({
    page,
    pages,
    server,
  }) => {
    let deliver = () => {};
    const isWanted = new Promise<void>((resolve) => {
      deliver = resolve;
    });
    const wasRequested = page.waitForRequest(/cell-menu/);
    await page.route(/cell-menu/, async (route) => {
      await isWanted;
      await route.continue();
    });
    await show({ page, pages, server }, FLIGHTS);
    await textOf(cell(page, 2, 2));
    await cell(page, 2, 2).tap();
    await wasRequested;
    const arrived = page.waitForResponse(/cell-menu/);
    deliver();
    await (await arrived).finished();
    await page.waitForTimeout(1000);
    await expect(menu(page)).toHaveCount(0);
  });
});
