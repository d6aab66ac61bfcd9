import type { Page } from "@playwright/test";
import { elementAlone, expectAccessible } from "./accessible.js";
import { cell, doubleClick, expect, test, viewer } from "./viewer.js";

const dialog = (page: Page) => page.getByRole("dialog");

/** Shows the one-row result of a statement. */
async function show(page: Page, sql: string): Promise<void> {
  await viewer(page).evaluate((element, statement) => {
    const { src } = element as unknown as { src: string };
    const body = JSON.stringify({ sql: statement });
    const headers = { "content-type": "application/json" };
    const url = new URL("/v1/query", src);
    Object.assign(element, { source: new Request(url, { method: "POST", headers, body }) });
  }, sql);
  await expect(page.getByRole("columnheader")).toHaveCount(1);
}

/** An image of one pixel. */
const GIF =
  "47494638396101000100800000ff0000ffffff21f90400000000002c00000000010001000002024401003b";

test("values of every type are shown in full, and Escape returns the focus to the cell", async ({
  page,
  stage,
}) => {
  await stage.show("/v1/tables/every_type/rows");
  const fields = await viewer(page).evaluate((element) => {
    const { table } = element as unknown as {
      table: { schema: { fields: { name: string; type: string }[] } };
    };
    return table.schema.fields;
  });
  await cell(page, 0, 1).click();
  for (const [index, { name }] of fields.entries()) {
    await page.keyboard.press("Enter");
    await expect(dialog(page)).toHaveAccessibleName(name);
    await expect(dialog(page).getByText("Loading…")).toHaveCount(0);
    await expect(dialog(page).getByRole("region", { name: "Value" })).not.toBeEmpty();
    await page.keyboard.press("Escape");
    await expect(dialog(page)).toHaveCount(0);
    await expect(cell(page, 0, index + 1)).toBeFocused();
    await page.keyboard.press("ArrowRight");
  }
});

test("the close event of the last cell, late by a frame, leaves the next cell open", async ({
  page,
  stage,
}) => {
  await stage.show("/v1/tables/every_type/rows");
  await cell(page, 0, 1).click();
  await page.keyboard.press("Enter");
  await expect(dialog(page)).toBeVisible();
  await dialog(page).evaluate((element) => element.dispatchEvent(new Event("close")));
  await page.evaluate(() => new Promise(requestAnimationFrame));
  await expect(dialog(page)).toBeVisible({ timeout: 1 });
  await expect(dialog(page).getByRole("region", { name: "Value" })).not.toBeEmpty();
});

test("nested values are shown as a tree and copied as JSON", async ({ page, stage }) => {
  await stage.show("/v1/tables/lineitem/rows?columns=l_comment&limit=10");
  await show(
    page,
    "select named_struct('id', 9007199254740993, 'tags', make_array('a', null)) as n",
  );
  await doubleClick(cell(page, 0, 1).filter({ visible: true }));
  const value = dialog(page).getByRole("region", { name: "Value" });
  await expect(value).toContainText("{2 members}");
  await expect(value).toContainText("9007199254740993");
  await expect(value).toContainText("[2 items]");
  await value.getByText("[2 items]").click();
  await expect(value.getByText('"a"')).toBeHidden();
  await dialog(page).getByRole("button", { name: "Copy value" }).click();
  await expect(dialog(page).getByRole("status")).toHaveText("Copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    '{"id":9007199254740993,"tags":["a",null]}',
  );
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await expect(dialog(page)).toHaveCount(0);
});

test("long texts are shown in full", async ({ page, stage }) => {
  await stage.show("/v1/tables/lineitem/rows?columns=l_comment&limit=10");
  await show(page, "select repeat('0123456789', 100000) as long");
  await doubleClick(cell(page, 0, 1).filter({ visible: true }));
  await expect(dialog(page).locator("pre")).toHaveText(/^(?:0123456789){100000}$/);
});

test("images are shown at the dashboard's own origin, under its policy", async ({
  page,
  server,
}) => {
  await page.goto(
    `${server.origin}/?sql=${encodeURIComponent(`select decode('${GIF}', 'hex') as picture`)}`,
  );
  await doubleClick(cell(page, 0, 1));
  const image = dialog(page).getByRole("img");
  await expect(image).toBeVisible();
  expect(await image.evaluate((element) => (element as HTMLImageElement).naturalWidth)).toBe(1);
});

test("bytes are shown in hex, and images as images", async ({ page, stage }) => {
  await stage.show("/v1/tables/lineitem/rows?columns=l_comment&limit=10");
  await show(page, `select decode('${GIF}', 'hex') as picture`);
  await doubleClick(cell(page, 0, 1).filter({ visible: true }));
  await expect(dialog(page)).toContainText(`${GIF.length / 2} bytes`);
  await expect(dialog(page).locator(".hex")).toContainText("00000000  47 49 46 38 39 61");
  const image = dialog(page).getByRole("img");
  await expect(image).toBeVisible();
  expect(await image.evaluate((element) => (element as HTMLImageElement).naturalWidth)).toBe(1);
});

test("selection, inspector and find bar are accessible", async ({ page, stage }) => {
  await stage.show("/v1/tables/every_type/rows");
  await cell(page, 0, 1).click();
  await cell(page, 2, 3).click({ modifiers: ["Shift"] });
  await page.keyboard.press("Control+f");
  await page.getByLabel("Find in cells and column names").fill("1");
  await expect(page.locator(".found")).toContainText(/^match \d+ of/);
  await expectAccessible(page, elementAlone);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await expect(dialog(page)).toBeVisible();
  await expectAccessible(page, elementAlone);
});
