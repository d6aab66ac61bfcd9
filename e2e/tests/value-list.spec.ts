import type { Page } from "@playwright/test";
import type { ColonnadeViewer } from "colonnade";
import {
  expect,
  FLIGHTS,
  getState,
  header,
  lastReported,
  openMenu,
  show,
  status,
  test,
} from "./columns.js";
import type { Server } from "./server.js";

const list = (page: Page) => page.getByRole("group", { name: "Checked values" });
const box = (page: Page, name: string | RegExp) => list(page).getByRole("checkbox", { name });
const apply = (page: Page) => page.getByRole("button", { name: "Apply filter" }).click();
const filter = async (page: Page) => (await getState(page)).filter;

/** The listed values with their counts, and whether they are checked. */
const listed = (page: Page) =>
  list(page)
    .locator("label")
    .evaluateAll((labels) =>
      labels.map((label) => [
        label.querySelector("b")?.textContent,
        label.querySelector("small")?.textContent,
        label.querySelector("input")?.checked,
      ]),
    );

/** What the list shows if the server counts the same rows. */
async function counted(server: Server, where: string): Promise<Map<string, string>> {
  const sql = `select origin, count(*) from flights where ${where} group by 1`;
  const rows = await server.answer(sql);
  return new Map(rows.map(([value, count]) => [String(value), Number(count).toLocaleString("en")]));
}

for (const [where, memory] of [
  ["in the browser", "1GiB"],
  ["at the server", "1MiB"],
] as const) {
  test(`values are counted, searched and chosen ${where}`, { tag: "@firefox" }, async ({
    page,
    pages,
    server,
  }) => {
    await show({ page, pages, server }, FLIGHTS, { memory });
    await expect(status(page)).toContainText(memory === "1GiB" ? "Complete" : "Windowed");
    await openMenu(page, "origin");
    const all = await counted(server, "true");
    await expect(list(page).locator("label")).toHaveCount(all.size);
    const rows = await listed(page);
    expect(new Map(rows.map(([value, count]) => [value, count]))).toEqual(all);
    const counts = rows.map(([, count]) => Number(String(count).replaceAll(",", "")));
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    expect(rows.every(([, , isChecked]) => isChecked)).toBe(true);

    await page.getByRole("button", { name: "None", exact: true }).click();
    await box(page, /^ORD/).check();
    await page.getByLabel("Search values").fill("hn");
    await expect(list(page).locator("label")).toHaveCount(
      [...all.keys()].filter((value) => value.includes("HN")).length,
    );
    await box(page, /^HNL/).check();
    await apply(page);
    const chosen = { op: "in", column: "origin", value: ["ORD", "HNL"] };
    await expect.poll(() => lastReported(page, "filter")).toEqual(chosen);
    await expect(page.getByText("origin is one of ORD, HNL")).toBeVisible();
    await openMenu(page, "origin");
    await expect(page.getByLabel("Condition")).toHaveValue("in");
    await expect(page.getByRole("textbox", { name: "Text" })).toHaveValue("ORD, HNL");
    // The column's own condition does not change its counts.
    await expect(list(page).locator("label")).toHaveCount(all.size);
    await expect(list(page).getByRole("checkbox", { checked: true })).toHaveCount(2);
    await page.getByRole("button", { name: "All", exact: true }).click();
    await box(page, /^ATL/).uncheck();
    await apply(page);
    const excluded = {
      or: [
        { not: { op: "in", column: "origin", value: ["ATL"] } },
        { op: "is_null", column: "origin" },
      ],
    };
    await expect.poll(() => filter(page)).toEqual(excluded);
    await expect(page.getByText("origin ≠ ATL")).toBeVisible();

    await openMenu(page, "distance");
    await page.getByLabel("From").fill("2000");
    await apply(page);
    await expect(status(page)).toContainText("filtered by origin, distance");
    await openMenu(page, "origin");
    const far = await counted(server, "distance >= 2000");
    const isAtl = far.has("ATL") ? 0 : 1;
    await expect(list(page).locator("label")).toHaveCount(far.size + isAtl);
    const left = (await listed(page)).filter(([, count]) => count !== "0");
    expect(new Map(left.map(([value, count]) => [value, count]))).toEqual(far);
    await expect(list(page).getByRole("checkbox", { checked: false })).toHaveCount(1);
    await page.keyboard.press("Escape");
    await expect(header(page, "origin")).toBeFocused();
  });
}

/** Shows the rows of a statement. */
async function showSql(page: Page, server: Server, sql: string): Promise<void> {
  await page.evaluate(
    ([url, statement]) => {
      const viewer = document.querySelector("colonnade-viewer") as ColonnadeViewer;
      const body = JSON.stringify({ sql: statement });
      const headers = { "content-type": "application/json" };
      viewer.source = new Request(url as string, { method: "POST", headers, body });
    },
    [`${server.origin}/v1/query`, sql],
  );
}

test("null, the empty text and texts with commas are values of their own", async ({
  page,
  pages,
  server,
}) => {
  const values = ["null", "null", "null", "''", "''", "'b, c'", "'a'"];
  const sql = `select column1 as t from (values ${values.map((value) => `(${value})`).join()}) v`;
  await show({ page, pages, server }, "/v1/tables/every_type/rows");
  await showSql(page, server, sql);
  await expect(status(page)).toContainText("Complete: 7 rows");
  await openMenu(page, "t");
  await expect(list(page).locator("label")).toHaveCount(4);
  expect((await listed(page)).slice(0, 2)).toEqual([
    ["null", "3", true],
    ["(empty)", "2", true],
  ]);
  await box(page, /^\(empty\)/).uncheck();
  await box(page, /^b, c/).uncheck();
  await apply(page);
  await expect(status(page)).toContainText("Complete: 4 rows");
  await expect(page.getByText("t is none of (empty), b, c")).toBeVisible();
  await openMenu(page, "t");
  await box(page, /^null/).uncheck();
  await apply(page);
  await expect(status(page)).toContainText("Complete: 1 row");
  await openMenu(page, "t");
  await page.getByRole("button", { name: "None", exact: true }).click();
  await box(page, /^null/).check();
  await box(page, /^\(empty\)/).check();
  await apply(page);
  await expect(status(page)).toContainText("Complete: 5 rows");
  await openMenu(page, "t");
  await expect(box(page, /^null/)).toBeChecked();
  await expect(list(page).getByRole("checkbox", { checked: true })).toHaveCount(2);
  await page.getByLabel("Condition").selectOption("Does not contain");
  await page.getByRole("textbox", { name: "Text" }).fill("a");
  await page.getByLabel("Any").check();
  await apply(page);
  await expect(page.getByText("t does not contain “a”")).toBeVisible();
  await expect(status(page)).toContainText("Complete: 6 rows");
});

test("with more values than are listed, the search finds the others", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows");
  const sql = "select 'v' || value as t from generate_series(1, 2000)";
  await showSql(page, server, sql);
  await expect(status(page)).toContainText("Complete: 2,000 rows");
  await openMenu(page, "t");
  await expect(list(page).locator("label")).toHaveCount(1000);
  await expect(page.getByText("The 1,000 most frequent of 2,000 values.")).toBeVisible();
  await page.getByRole("button", { name: "None", exact: true }).click();
  for (const value of ["v1999", "v7"]) {
    await page.getByLabel("Search values").fill(value);
    await box(page, new RegExp(`^${value}\\b`)).check();
  }
  await page.getByLabel("Search values").fill("no such value");
  await expect(page.getByText("No values match.")).toBeVisible();
  await apply(page);
  await expect(status(page)).toContainText("Complete: 2 rows");
  await expect(page.getByText("t is one of v1999, v7")).toBeVisible();
});

test("booleans have counts, and an exclusion is no condition on nulls", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows?columns=row,bool,utf8");
  await expect(status(page)).toContainText("Complete: 24 rows");
  const [[numTrue, numNull] = []] = await server.answer(
    "select count(*) filter (where bool), count(*) filter (where bool is null) from every_type",
  );
  await openMenu(page, "bool");
  const values = page.getByRole("group", { name: "Values" });
  await expect(values.locator("label", { hasText: "true" })).toContainText(`${numTrue}`);
  await expect(values.locator("label", { hasText: "null" })).toContainText(`${numNull}`);
  await page.keyboard.press("Escape");
  await openMenu(page, "row");
  await page.getByLabel("Not", { exact: true }).fill("3");
  await apply(page);
  await expect(status(page)).toContainText("Complete: 23 rows");
  await expect(page.getByText("row ≠ 3")).toBeVisible();
  await openMenu(page, "row");
  await expect(page.getByLabel("Not", { exact: true })).toHaveValue("3");
});

test("rows that were only counted are released, at the server too", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS, { memory: "1MiB" });
  await expect(status(page)).toContainText("Windowed");
  const before = (await server.queries()).map(({ id }) => id);
  await openMenu(page, "origin");
  for (const text of ["h", "hn", "hnl"]) {
    await page.getByLabel("Search values").fill(text);
    await expect(list(page).locator("label").first()).toBeVisible();
    await expect(list(page)).toHaveAttribute("aria-busy", "false");
  }
  await expect(list(page).locator("label")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect.poll(async () => (await server.queries()).map(({ id }) => id)).toEqual(before);
  await expect(status(page)).toContainText("Windowed");
});

test("while rows arrive, those that are here are counted", async ({ page, pages, server }) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows");
  await page.evaluate(async (url) => {
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    const viewer = document.querySelector("colonnade-viewer") as ColonnadeViewer;
    viewer.source = new ReadableStream({
      start: (stream) => stream.enqueue(bytes.subarray(0, bytes.length / 2)),
    });
  }, `${server.origin}${FLIGHTS}`);
  await expect(status(page)).toContainText(/^Streaming/);
  await expect(page.getByRole("gridcell").first()).toBeVisible();
  await openMenu(page, "origin");
  await expect(page.getByText(/^Counts of the first [\d,]+ rows\.$/)).toBeVisible();
  await expect(box(page, /^ORD/)).toBeChecked();
  // No server can search the rows that have not arrived.
  await page.getByLabel("Search values").fill("HNL");
  await expect(page.getByRole("alert")).toContainText("only once all have arrived");
  await page.getByLabel("Search values").fill("");
  await expect(page.getByRole("alert")).toHaveCount(0);
});
