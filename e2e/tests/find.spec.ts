import { cell, expect, smallTest as test, viewer } from "./viewer.js";

const LINEITEM = "/v1/tables/lineitem/rows?columns=l_orderkey,l_shipmode,l_comment";
/** A text in some of the comments. */
const TEXT = "pinto beans nag";

for (const memory of ["1GiB", "1MiB"]) {
  test(`a text is found with a memory budget of ${memory}, next and previous`, {
    tag: "@firefox",
  }, async ({ page, stage }) => {
    await stage.show(LINEITEM, { memory });
    await cell(page, 0, 1).click();
    await page.keyboard.press("Control+f");
    const input = page.getByLabel("Find in cells and column names");
    await expect(input).toBeFocused();
    await input.fill(TEXT);
    const words = page.locator(".found");
    await expect(words).toContainText("match 1 of");
    const current = page.locator('[data-mark="current"]');
    await expect(current).toContainText(TEXT);
    const expected = await viewer(page).evaluate(async (element, text) => {
      const { table } = element as unknown as {
        table: { find(text: string, options: object): Promise<{ matches: { row: number }[] }> };
      };
      return (await table.find(text, { limit: 1000 })).matches.map(({ row }) => row);
    }, TEXT);
    expect(expected.length).toBeGreaterThan(2);
    const number = (row = -1) => String(row + 2);
    const row = page.getByRole("row").filter({ has: current });
    await expect(row).toHaveAttribute("aria-rowindex", number(expected[0]));
    await input.press("Enter");
    await expect(words).toContainText("match 2 of");
    await expect(row).toHaveAttribute("aria-rowindex", number(expected[1]));
    await input.press("Shift+Enter");
    await expect(row).toHaveAttribute("aria-rowindex", number(expected[0]));
    await expect(words).toHaveText(`match 1 of ${expected.length}`);
    await input.press("Shift+Enter");
    await expect(row).toHaveAttribute("aria-rowindex", number(expected.at(-1)));
    // Keys that end the composition of an input method do nothing else.
    await input.evaluate((each) => {
      const composing = { isComposing: true, bubbles: true, composed: true };
      for (const key of ["Enter", "Escape"])
        each.dispatchEvent(new KeyboardEvent("keydown", { key, ...composing }));
    });
    await expect(words).toHaveText(`match ${expected.length} of ${expected.length}`);
    await expect(input).toBeFocused();
    await input.press("Escape");
    await expect(input).toHaveCount(0);
    await expect(page.locator("[data-mark]")).toHaveCount(0);
    await expect(cell(page, expected.at(-1) ?? -1, 3)).toBeFocused();
  });
}

test("Match case, column names and no matches", async ({ page, stage }) => {
  await stage.show(`${LINEITEM}&limit=1000`);
  await page.getByRole("button", { name: "Find" }).click();
  const input = page.getByLabel("Find in cells and column names");
  const words = page.locator(".found");
  await input.fill("truck");
  await expect(words).toContainText(/^match 1 of \d+/);
  await page.getByLabel("Match case").check();
  await expect(words).toHaveText("No match");
  await input.fill("SHIPMODE");
  await expect(words).toHaveText("No match");
  await page.getByLabel("Match case").uncheck();
  await expect(words).toHaveText("No match, 1 column name");
  await expect(cell(page, 0, 2)).toHaveAttribute("aria-selected", "true");
});

test("the search is repeated when the rows or columns change", async ({ page, stage }) => {
  await stage.show(`${LINEITEM}&limit=1000`);
  await page.getByRole("button", { name: "Find" }).click();
  const words = page.locator(".found");
  await page.getByLabel("Find in cells and column names").fill("truck");
  await expect(words).toContainText(/^match 1 of \d+$/);
  const count = /\d+$/.exec((await words.textContent()) ?? "")?.[0];
  await page.getByRole("columnheader", { name: /^l_comment/ }).focus();
  await page.keyboard.press("Alt+ArrowRight");
  await expect(words).toHaveText(`match 1 of ${count}`);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("columnheader", { name: /^l_comment/ })).toHaveAttribute(
    "aria-sort",
    "ascending",
  );
  await expect(words).toHaveText(`${count} matches`);
  await page.getByLabel("Find in cells and column names").press("Enter");
  await expect(words).toHaveText(`match 1 of ${count}`);
  await expect(page.locator('[data-mark="current"]')).toHaveText("TRUCK");
});

test("a search can be limited to the selected columns", async ({ page, stage }) => {
  await stage.show(`${LINEITEM}&limit=1000`);
  await page.getByRole("columnheader", { name: /^l_orderkey/ }).click({ modifiers: ["Control"] });
  await page.keyboard.press("Control+f");
  const words = page.locator(".found");
  await page.getByLabel("Find in cells and column names").fill("truck");
  await expect(words).toContainText(/^match 1 of/);
  await page.getByRole("columnheader", { name: /^l_orderkey/ }).click({ modifiers: ["Control"] });
  await page.getByLabel("Selected columns only").check();
  await expect(words).toHaveText("No match");
  await page.getByLabel("Find in cells and column names").fill("order");
  await expect(words).toHaveText("No match, 1 column name");
  await page.getByLabel("In l_orderkey only").uncheck();
  await page.getByLabel("Find in cells and column names").fill("truck");
  await expect(words).toContainText(/^match 1 of/);
});

test("a search of every row can be stopped", async ({ page, stage }) => {
  await stage.show(LINEITEM, { memory: "1MiB" });
  // Only the first part of the search is answered.
  await page.route(/\/find\?/, async (route) => {
    const { searchParams } = new URL(route.request().url());
    if (searchParams.get("from") === "0") await route.continue();
  });
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByLabel("Find in cells and column names").fill("e");
  const stop = page.getByRole("button", { name: "Stop" });
  await expect(page.locator(".found")).toContainText("match 1 of");
  await stop.click();
  await expect(stop).toHaveCount(0);
  await expect(page.locator(".found")).toContainText("+");
});

test("values of every type are found as they are shown", async ({ page, stage }) => {
  await stage.show("/v1/tables/every_type/rows");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByLabel("Find in cells and column names").fill("9007199254740993");
  await expect(page.locator(".found")).toContainText("match 1 of");
  await expect(page.locator('[data-mark="current"]')).toContainText("9007199254740993");
});

test("the bar searches again when it is opened again", async ({ page, stage }) => {
  await stage.show(`${LINEITEM}&limit=1000`);
  await page.getByRole("button", { name: "Find" }).click();
  const words = page.locator(".found");
  await page.getByLabel("Find in cells and column names").fill("truck");
  await expect(words).toContainText(/^match 1 of \d+/);
  await page.keyboard.press("Escape");
  await expect(words).toHaveCount(0);
  await page.getByRole("button", { name: "Find" }).click();
  await expect(words).toContainText(/^\d+ matches/);
});

for (const memory of ["1GiB", "1MiB"]) {
  test(`a search becomes a filter with a memory budget of ${memory}`, { tag: "@firefox" }, async ({
    page,
    server,
    stage,
  }) => {
    await stage.show("/v1/tables/flights/rows", { memory });
    const status = page.getByRole("status");
    const numRows = async (where: string) => {
      const [[count] = []] = await server.answer(`select count(*) from flights where ${where}`);
      return `${Number(count).toLocaleString("en")} rows`;
    };
    const filter = () =>
      viewer(page).evaluate((element) => (element as unknown as { filter: unknown }).filter);
    await page.getByRole("button", { name: "Find" }).click();
    const only = page.getByRole("button", { name: "Only these rows" });
    await expect(only).toBeDisabled();
    await page.getByLabel("Find in cells and column names").fill("hnl");
    await only.click();
    await expect.poll(filter).toEqual({ op: "matches", value: "hnl" });
    await expect(page.getByText("any column contains “hnl”")).toBeVisible();
    await expect(status).toContainText(await numRows("origin = 'HNL' or destination = 'HNL'"));
    await page.getByRole("button", { name: "Remove filter: any column" }).click();
    await expect.poll(filter).toBeNull();

    await page.getByRole("columnheader", { name: /^origin/ }).click({ modifiers: ["Control"] });
    await page.getByLabel("Selected columns only").check();
    await page.getByLabel("Match case").check();
    await page.getByLabel("Find in cells and column names").fill("HN");
    await only.click();
    const columns = ["origin"];
    const wanted = { op: "matches", value: "HN", columns, match_case: true };
    await expect.poll(filter).toEqual(wanted);
    await expect(status).toContainText(await numRows("contains(origin, 'HN')"));
  });
}
