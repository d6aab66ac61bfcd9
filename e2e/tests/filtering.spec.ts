import type { ColonnadeViewer } from "colonnade";
import {
  answered,
  cell,
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
  ["at the server", "1MiB"],
] as const) {
  test(`columns are filtered by type, ${where}`, { tag: "@firefox" }, async ({
    page,
    pages,
    server,
  }) => {
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

test("the filter bar appears with its filter, and moves nothing later", async ({
  page,
  pages,
  server,
}) => {
  await page.route("**/filter-bar.js", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText("Complete");
  await openMenu(page, "distance");
  await page.getByLabel("From").fill("4000");
  await page.getByLabel("From").press("Enter");
  await expect(status(page)).toContainText("filtered by distance");
  expect(await page.getByRole("group", { name: "Filters" }).isVisible()).toBe(true);
});

test("a filter without matching rows can be removed by keyboard", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows?columns=row,bool,utf8");
  await expect(status(page)).toContainText("Complete: 24 rows");
  await cell(page, 0, 3).click();
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
  await expect(page.getByLabel("From")).toHaveValue("not a number");
  await page.keyboard.press("Escape");
  expect((await getState(page)).filter).toHaveProperty("or");
});

test("the form leaves alone what it cannot express", async ({ page, pages, server }) => {
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText("Complete");
  const column = "origin";
  const some = {
    or: [
      { op: "eq", column, value: "ATL" },
      { op: "starts_with", column, value: "H" },
    ],
  };
  const filter = { and: [some, { op: "in", column: "distance", value: [599, 606] }] };
  const shown = async () => (await getState(page)).filter;
  const apply = () => page.getByRole("button", { name: "Apply filter" }).click();
  await page.locator("colonnade-viewer").evaluate((viewer: ColonnadeViewer, wanted) => {
    viewer.filter = wanted as ColonnadeViewer["filter"];
  }, filter);
  for (const column of ["origin", "distance"]) {
    await openMenu(page, column);
    await apply();
  }
  expect(await shown()).toEqual(filter);
  await openMenu(page, "origin");
  await page.getByRole("textbox", { name: "Text" }).fill("A");
  await apply();
  const contains = { op: "contains", column: "origin", value: "A" };
  await expect.poll(shown).toEqual({ and: [filter.and[1], some, contains] });
  await openMenu(page, "origin");
  await page
    .getByRole("dialog", { name: "Column origin" })
    .getByRole("button", { name: "Remove: origin = ATL or origin starts with “H”" })
    .click();
  await expect.poll(shown).toEqual({ and: [filter.and[1], contains] });
});

test("a day in the form is the whole day, by keys, calendar and the page's language", async ({
  page,
  pages,
  server,
}) => {
  const times = ["03-30 12:00:00", "03-31 00:00:00", "03-31 23:59:59.999", "04-01 00:00:00"];
  const values = times.map((time) => `(timestamp '2025-${time}')`);
  const sql = `select column1 as at from (values ${values.join()}) t`;
  await show({ page, pages, server }, "/v1/tables/every_type/rows");
  await page.evaluate(
    ([url, sql]) => {
      document.documentElement.lang = "de";
      const viewer = document.querySelector("colonnade-viewer") as ColonnadeViewer;
      const body = JSON.stringify({ sql });
      const headers = { "content-type": "application/json" };
      viewer.source = new Request(url as string, { method: "POST", headers, body });
    },
    [`${server.origin}/v1/query`, sql],
  );
  await expect(status(page)).toContainText("Complete: 4 rows");
  const [from, to] = [page.getByLabel("From"), page.getByLabel("To", { exact: true })];
  await openMenu(page, "at");
  await to.fill("31.13.2025");
  await to.press("Enter");
  await expect(page.getByRole("alert")).toContainText("or 1.3.2025");
  await expect(to).toHaveValue("31.13.2025");
  await to.fill("31.3.2025");
  await page.getByLabel("Pick the first day").fill("2025-03-31");
  await expect(from).toHaveValue("2025-03-31");
  await to.press("Enter");
  await expect(status(page)).toContainText("Complete: 2 rows");
  await openMenu(page, "at");
  await expect(to).toHaveValue("2025-03-31");
});
