import {
  answered,
  cell,
  clickOn,
  expect,
  expectRows,
  FLIGHTS,
  getState,
  header,
  lastReported,
  openMenu,
  show,
  status,
  test,
} from "./columns.js";

for (const [where, memory] of [
  ["in the browser", "1GiB"],
  ["at the server", "16MiB"],
] as const) {
  test(`columns are filtered by type, ${where}`, async ({ page, pages, server }) => {
    await show({ page, pages, server }, FLIGHTS, { memory });
    await expect(status(page)).toContainText(memory === "1GiB" ? "Complete" : "Windowed");
    await openMenu(page, "distance");
    await page.getByLabel("From").fill("4000");
    await page.getByLabel("From").press("Enter");
    await expect(status(page)).toContainText("filtered by distance");
    await expect(header(page, "distance")).toBeFocused();
    await header(page, "origin").click();
    await openMenu(page, "origin");
    await page.getByLabel("Condition").selectOption("starts_with");
    await page.getByRole("textbox", { name: "Text" }).fill("H");
    await page.getByRole("button", { name: "Apply filter" }).click();
    const filter = {
      and: [
        { op: "ge", column: "distance", value: "4000" },
        { op: "starts_with", column: "origin", value: "H" },
      ],
    };
    await expect.poll(() => lastReported(page, "filter")).toEqual(filter);
    const columns = ["date", "delay", "distance", "origin"];
    const wanted = { table: "flights", limit: 8, sort: ["origin"], filter };
    const rows = await answered(page, server, wanted, columns);
    expect(rows).toHaveLength(8);
    await expectRows(page, rows);
    await expect(header(page, "origin")).toHaveAttribute("aria-description", /^filtered/);

    await page.getByRole("button", { name: "Remove filter: distance ≥ 4000" }).click();
    await expect(status(page)).toContainText("filtered by origin");
    const less = { ...wanted, filter: filter.and[1] };
    await expectRows(page, await answered(page, server, less, columns));
    await page.getByRole("button", { name: "Remove all" }).click();
    await expect(page.getByRole("group", { name: "Filters" })).toBeHidden();
    await expect(status(page)).not.toContainText("filtered");
  });
}

test("a filter without matching rows can be removed by keyboard", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows?columns=row,bool,utf8");
  await expect(status(page)).toContainText("Complete: 24 rows");
  await clickOn(cell(page, 0, 3));
  await page.keyboard.press("ArrowUp");
  await expect(header(page, "utf8")).toBeFocused();
  await page.keyboard.press("Alt+ArrowDown");
  await page.getByRole("textbox", { name: "Text" }).fill("no such text");
  await page.keyboard.press("Enter");
  await expect(page.getByText("No rows match the filter.")).toBeVisible();
  await expect(header(page, "utf8")).toBeFocused();
  await page.keyboard.press("Alt+ArrowDown");
  await page.getByRole("button", { name: "Remove filter", exact: true }).click();
  await expect(status(page)).toContainText("Complete: 24 rows");

  await openMenu(page, "bool");
  await page.getByLabel("true").check();
  await page.getByLabel("null").check();
  await page.getByRole("button", { name: "Apply filter" }).click();
  await expect
    .poll(() => lastReported(page, "filter"))
    .toEqual({
      or: [
        { op: "eq", column: "bool", value: true },
        { op: "is_null", column: "bool" },
      ],
    });
  await openMenu(page, "row");
  await page.getByLabel("From").fill("not a number");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toContainText("not a number");
  await page.keyboard.press("Escape");
  expect((await getState(page)).filter).toHaveProperty("or");
});
