import { expectAccessible } from "./accessible.js";
import { cell, chooseTable, expect, SMALL_COMPLETE, test } from "./fixtures.js";
import { expectGrid } from "./grid-contract.js";

// States that need a misbehaving server are in states.spec.ts.

test("the list of tables, a stream, a complete table and an error are accessible", async ({
  page,
  small,
}) => {
  await page.goto(small.origin);
  await expect(page.getByRole("link", { name: /^flights\b/ })).toBeVisible();
  await expectAccessible(page);
  await chooseTable(page, "flights");
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  await expect(page.getByRole("status")).toContainText(SMALL_COMPLETE);
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "SQL" }).fill("select nothing from flights");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expectAccessible(page);
});

test("details, the editor, plans and the history are accessible", async ({ page, small }) => {
  await page.goto(`${small.origin}/?table=flights&view=details`);
  const columns = page.getByRole("region", { name: "Columns", exact: true });
  await expect(columns.getByRole("row", { name: /^distance/ }).getByRole("img")).toBeVisible();
  await page.getByText("Column storage").click();
  await expectAccessible(page);

  await page.getByRole("textbox", { name: "SQL" }).click();
  await expect(page.locator(".cm-content")).toBeFocused();
  await page.keyboard.type("select dela");
  await expect(page.getByRole("option").first()).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.type("i from flights");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".cm-lintRange-error")).toBeVisible();
  await expectAccessible(page);

  await page.keyboard.press("Control+A");
  await page.keyboard.type("select 1 as x ");
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByRole("region", { name: "Physical plan" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "History" }).click();
  await expect(page.getByRole("dialog", { name: "History" })).toBeVisible();
  await expectAccessible(page);
});

test("menus, the inspector and the find bar are accessible", async ({ page, small }) => {
  await page.goto(`${small.origin}/?table=every_type`);
  await expect(page.getByRole("status")).toContainText("Complete: 24 rows");
  await page.getByRole("columnheader").first().click({ button: "right" });
  await expect(page.getByRole("dialog", { name: /^Column / })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Columns", exact: true }).click();
  await expect(page.getByRole("dialog", { name: "Columns", exact: true })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await cell(page, 1, 1).click();
  await page.keyboard.press("F2");
  await expect(page.getByRole("dialog")).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(cell(page, 1, 1)).toBeFocused();
  await page.keyboard.press("Control+f");
  await page.getByPlaceholder("Find").fill("1");
  await expect(page.getByText(/match [\d,]+ of/)).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+a");
  await expect(page.getByRole("button", { name: "Copy", exact: true })).toBeVisible();
  await expectAccessible(page);
  await expectGrid(page);
});
