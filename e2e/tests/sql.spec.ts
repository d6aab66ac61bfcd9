import { cell, expect, test } from "./fixtures.js";

test("a query's result streams into the grid", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = page.getByRole("textbox", { name: "SQL" });
  await sql.fill(
    "select l_returnflag, l_linestatus, count(*) as n, sum(l_quantity) as q " +
      "from lineitem group by 1, 2 order by 1, 2",
  );
  await page.getByRole("button", { name: "Run" }).click();
  // TPC-H's query 1 at scale 1, without its date.
  await expect(cell(page, 0, 1)).toHaveText("A");
  await expect(cell(page, 0, 3)).toHaveText("1478493");
  await expect(cell(page, 0, 4)).toHaveText("37734107.00");
  await expect(page.getByRole("status")).toContainText("Complete: 4 rows");
});

test("Control+Enter runs, and a mistake is explained", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = page.getByRole("textbox", { name: "SQL" });
  await sql.fill("select l_returnflg from lineitem");
  await sql.press("Control+Enter");
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("l_returnflg");
  await expect(alert).toContainText("l_returnflag");
});

test("a statement that would change something is refused", async ({ page, demo }) => {
  await page.goto(demo.origin);
  await page.getByRole("textbox", { name: "SQL" }).fill("drop table lineitem");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("alert")).toContainText(/read/i);
});

test("a query without rows says so", async ({ page, demo }) => {
  await page.goto(demo.origin);
  await page.getByRole("textbox", { name: "SQL" }).fill("select * from flights where false");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText(/no rows/i).first()).toBeVisible();
});
