import type { Locator, Page } from "@playwright/test";
import type { ColonnadeViewer } from "colonnade";
import {
  cell,
  chooseTable,
  chromiumOnly,
  expect,
  goToRow,
  openStartPage,
  resultIds,
  test,
} from "./fixtures.js";

test("a query's result streams into the grid", { tag: "@firefox" }, async ({ page, demo }) => {
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

test("Control+Enter runs a statement, and an error suggests a similar name", async ({
  page,
  demo,
}) => {
  await page.goto(demo.origin);
  const sql = page.getByRole("textbox", { name: "SQL" });
  await sql.fill("select l_returnflg from lineitem");
  await sql.press("Control+Enter");
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("l_returnflg");
  await expect(alert).toContainText("l_returnflag");
});

test("a statement that would change data is refused", async ({ page, demo }) => {
  await page.goto(demo.origin);
  await page.getByRole("textbox", { name: "SQL" }).fill("drop table lineitem");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("alert")).toContainText(/read/i);
});

test("a statement that runs says how long, and is cancelled where it was run", async ({
  page,
  demo,
}) => {
  await page.goto(demo.origin);
  await page
    .getByRole("textbox", { name: "SQL" })
    .fill("select count(*) from lineitem a join lineitem b on a.l_comment < b.l_comment");
  const run = page.locator("sql-panel .primary");
  await run.click();
  await expect(run).toHaveText("Cancel");
  const line = page.locator("colonnade-viewer [part=status]");
  const seconds = async () => Number(/Running\D*([\d.]+) s/.exec(await line.innerText())?.[1]);
  await expect.poll(seconds).toBeGreaterThan(1);
  const before = await seconds();
  await expect.poll(seconds).toBeGreaterThan(before);
  await expect(line).toContainText(/[\d.]+ MB read/);
  expect(await line.innerText()).not.toMatch(/rows|\bB\b/);
  await run.click();
  await expect(run).toHaveText("Run");
  await expect(page.getByRole("status")).toContainText("Cancelled");
});

test("a result without rows says so", async ({ page, demo }) => {
  await page.goto(demo.origin);
  await page.getByRole("textbox", { name: "SQL" }).fill("select * from flights where false");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText(/no rows/i).first()).toBeVisible();
});

/** Records violations of the page's content security policy; the returned function reads them. */
async function watchPolicy(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const broken: string[] = [];
    Object.assign(globalThis, { broken });
    addEventListener("securitypolicyviolation", (event) =>
      broken.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
  });
  return () => page.evaluate(() => (globalThis as unknown as { broken: string[] }).broken);
}

/** Focuses the editor and waits until it has replaced the text field. */
async function openEditor(page: Page): Promise<Locator> {
  const sql = page.getByRole("textbox", { name: "SQL" });
  await sql.click();
  await expect(page.locator(".cm-content")).toBeFocused();
  return sql;
}

test("text that is typed before the editor has loaded stays, and the policy is not violated", async ({
  page,
  demo,
}) => {
  const broken = await watchPolicy(page);
  let letIn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    letIn = resolve;
  });
  await page.route(/code-editor/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(demo.origin);
  const sql = page.getByRole("textbox", { name: "SQL" });
  await sql.pressSequentially("select 1 AS wum");
  await page.keyboard.press("ArrowLeft");
  letIn();
  await expect(page.locator(".cm-content")).toBeFocused();
  await page.keyboard.type("A");
  await expect(page.locator(".cm-content")).toHaveText("select 1 AS wuAm");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("columnheader", { name: /wuAm/ })).toBeVisible();
  // Underlining an error and completing a word must not violate the policy.
  await page.keyboard.press("Control+A");
  await page.keyboard.type("select wum from flights");
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".cm-lintRange-error")).toHaveText("wum");
  await page.locator(".cm-lintRange-error").hover();
  await expect(page.locator(".cm-diagnostic")).toContainText('there is no column "wum"');
  await page.keyboard.press("Control+A");
  await page.keyboard.type("select del");
  await page.keyboard.press("Control+Space");
  await expect(page.getByRole("option").first()).toBeVisible();
  expect(await broken()).toEqual([]);
});

test("columns of the statement's tables and functions are completed", async ({ page, demo }) => {
  await page.goto(demo.origin);
  await openEditor(page);
  await page.keyboard.type("SELECT * FROM lineitem WHERE l_ship");
  const options = page.getByRole("listbox").getByRole("option");
  await expect(options.filter({ hasText: "l_shipdate" })).toBeVisible();
  await expect(options.filter({ hasText: "l_shipmode" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("SELECT approx_dis");
  await expect(options.first()).toContainText("approx_distinct");
  // A completion list that has just opened ignores keys at first.
  await expect(async () => {
    await page.keyboard.press("Tab");
    await expect(page.locator(".cm-content")).toHaveText("SELECT approx_distinct()", {
      timeout: 500,
    });
  }).toPass();
  await page.keyboard.type("fl.");
  await page.keyboard.press("End");
  await page.keyboard.type(" FROM flights fl");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Home");
  for (let key = 0; key < "SELECT approx_distinct(fl.".length; key++) {
    await page.keyboard.press("ArrowRight");
  }
  await page.keyboard.type("ori");
  await expect(options.first()).toContainText("origin");
});

test("only the selected text is run", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  await sql.fill("select 'all' as x; select 'part' as y");
  await page.keyboard.press("End");
  for (let key = 0; key < " select 'part' as y".length; key++) {
    await page.keyboard.press("Shift+ArrowLeft");
  }
  await page.getByRole("button", { name: "Run" }).click();
  await expect(cell(page, 0, 1)).toHaveText("part");
  await expect(page.locator(".cm-content")).toHaveText("select 'all' as x; select 'part' as y");
});

for (const { sql, mark } of [
  { sql: "select 1,\n  2 frm x where", mark: "x" },
  { sql: "select * from nowhere", mark: "nowhere" },
  { sql: "select\n\n  foo(1)", mark: "foo" },
  { sql: "select 1 +", mark: "+" },
]) {
  test(`an error is underlined at its position: ${sql.replaceAll("\n", " ")}`, async ({
    page,
    demo,
  }) => {
    // The editor is not loaded yet; the error loads it.
    await page.goto(`${demo.origin}/?${new URLSearchParams({ sql })}`);
    await expect(page.getByRole("alert")).toBeVisible();
    await expect(page.locator(".cm-lintRange-error")).toHaveText(mark);
  });
}

test("Escape cancels a statement, also at the server", async ({ page, demo }) => {
  const ids = resultIds(page);
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  await sql.fill("select * from lineitem a");
  await page.keyboard.press("Control+Enter");
  await expect(cell(page, 0, 1)).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("status")).toContainText(/cancelled/i);
  expect(ids.size).toBeGreaterThan(0);
  await expect.poll(() => demo.running(ids)).toEqual([]);
});

test("statements have tabs, which the browser stores", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  await sql.fill("select 'one' as x");
  await page.keyboard.press("Control+Enter");
  await expect(cell(page, 0, 1)).toHaveText("one");
  await page.getByRole("button", { name: "New statement" }).click();
  await expect(page.locator(".cm-content")).toHaveText(/^SELECT .* FROM/);
  await sql.fill("select 'two' as x");
  await page.keyboard.press("Control+Enter");
  await expect(cell(page, 0, 1)).toHaveText("two");

  const tabs = page.getByRole("tablist", { name: "Open tables and statements" }).getByRole("tab");
  await expect(tabs).toHaveText(["Query 1", "Query 2"]);
  await tabs.first().click();
  await expect(cell(page, 0, 1)).toHaveText("one");
  await expect(page.locator(".cm-content")).toHaveText("select 'one' as x");

  await tabs.first().press("F2");
  const name = page.getByRole("textbox", { name: "Name of Query 1" });
  await name.fill("The first");
  await name.press("Enter");
  await expect(tabs.first()).toHaveText("The first");
  await expect(tabs.first()).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(tabs.nth(1)).toBeFocused();
  await page.keyboard.press("Delete");
  await expect(tabs).toHaveText(["The first"]);

  await chooseTable(page, "every_type");
  await expect(tabs).toHaveText(["every_type", "The first"]);
  // The editor of a table does not show a statement of another tab.
  await expect(page.locator(".cm-content")).toHaveText(/^SELECT .* FROM every_type/);
  await expect(page.locator(".cm-placeholder")).toBeVisible();
  await tabs.nth(1).click();
  await expect(cell(page, 0, 1)).toHaveText("one");
});

test(
  "a tab gets back rows that only the server has, and runs nothing by itself",
  chromiumOnly("Firefox's driver hides the bodies of requests"),
  async ({ page, demo }) => {
    await openStartPage(page, demo.origin);
    const sql = await openEditor(page);
    const ran: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST" && new URL(request.url()).pathname === "/v1/query")
        ran.push((JSON.parse(request.postData() ?? "{}") as { sql: string }).sql);
    });
    const tabs = page.getByRole("tablist", { name: "Open tables and statements" }).getByRole("tab");
    const statements = ["one", "two", "three", "four", "five", "six"].map(
      (name) => `select '${name}' as x, random() as y`,
    );
    let random: string | null = null;
    for (const [index, statement] of statements.entries()) {
      if (index > 0) await page.getByRole("button", { name: "New statement" }).click();
      await sql.fill(statement);
      await page.keyboard.press("Control+Enter");
      await expect(cell(page, 0, 1)).toHaveText(/^\w+$/);
      await expect(cell(page, 0, 1)).toHaveText(statement.split("'")[1] ?? "");
      random ??= await cell(page, 0, 2).textContent();
    }
    expect(ran).toEqual(statements);
    // Five results are in the page, and the first is at the server.
    await tabs.first().click();
    await expect(cell(page, 0, 1)).toHaveText("one");
    await expect(cell(page, 0, 2)).toHaveText(random ?? "");
    await tabs.nth(5).click();
    await expect(cell(page, 0, 1)).toHaveText("six");

    const { queries } = (await (await page.request.get(`${demo.origin}/v1/query`)).json()) as {
      queries: { id: string }[];
    };
    await chooseTable(page, "every_type");
    await page.reload();
    for (const { id } of queries) await page.request.delete(`${demo.origin}/v1/query/${id}`);
    await tabs.nth(1).click();
    await expect(page.getByText("The rows of this statement are gone")).toBeVisible();
    expect(ran).toEqual(statements);
    await page.locator(".absent").getByRole("button", { name: "Run" }).click();
    await expect(cell(page, 0, 1)).toHaveText("one");
  },
);

test("text that was not run stays when the page shows something else", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  await sql.fill("select 'draft' as x");
  await chooseTable(page, "every_type");
  const tabs = page.getByRole("tablist", { name: "Open tables and statements" }).getByRole("tab");
  await expect(tabs).toHaveText(["every_type", "Query 1"]);
  await tabs.nth(1).click();
  await expect(page.locator(".cm-content")).toHaveText("select 'draft' as x");
  await sql.press("Control+Enter");
  await expect(cell(page, 0, 1)).toHaveText("draft");
  await sql.fill("select 'second' as x");
  await sql.press("Control+Enter");
  await expect(cell(page, 0, 1)).toHaveText("second");
  await sql.fill("select 'written' as x");
  await page.goBack();
  await expect(cell(page, 0, 1)).toHaveText("draft");
  await expect(tabs).toHaveText(["Query 1", "Query 2"]);
  await tabs.first().click();
  await expect(page.locator(".cm-content")).toHaveText("select 'written' as x");
});

test("a statement and a table keep their rows and their view; a return to them runs nothing", async ({
  page,
  small,
}) => {
  const numRun = async () => {
    const { queries } = (await (await fetch(`${small.origin}/v1/query`)).json()) as {
      queries: { request: { sql?: string } }[];
    };
    const isOwn = (sql: string) => sql === statement || sql.includes(joined);
    return queries.filter(({ request }) => isOwn(request.sql ?? "")).length;
  };
  await page.goto(small.origin);
  const tabs = page.getByRole("tablist", { name: "Open tables and statements" }).getByRole("tab");
  const statement = "select origin, count(*) as n from flights group by origin order by origin";
  const sql = await openEditor(page);
  await sql.fill(statement);
  await sql.press("Control+Enter");
  await expect(page.getByRole("status")).toContainText("Complete");
  await page.getByRole("columnheader", { name: /^n\b/ }).click();
  const numbers = page.getByRole("columnheader", { name: /^n\b/ });
  await expect(page.getByRole("status")).toContainText(/^Complete.*sorted by n/);
  await goToRow(page, 40);
  await expect(cell(page, 39, 1)).not.toHaveText("");
  const shown = await cell(page, 39, 1).textContent();
  const run = page.locator("sql-panel .primary");
  const begin = async (text: string) => {
    await page.getByRole("button", { name: "New statement" }).click();
    await sql.fill(text);
    await sql.press("Control+Enter");
    await expect(run).toHaveText("Cancel");
  };
  const some = "(select * from flights limit 30000)";
  const joined = `${some} a join ${some} b on a.delay + b.delay > a.distance + b.distance`;
  // A statement that runs when another one is opened goes on.
  await begin(`select count(*) as n from ${joined}`);
  await begin(`select count(*) as n from ${joined} join ${some} c on a.delay < c.delay + b.delay`);
  await run.click();
  await expect(run).toHaveText("Run");
  // What was cancelled is deleted.
  await expect.poll(numRun).toBe(2);

  await tabs.first().click();
  await expect(cell(page, 39, 1)).toHaveText(shown ?? "");
  await expect(numbers).toHaveAttribute("aria-sort", "ascending");
  await expect(page).toHaveURL(/sort=n&row=/);
  await tabs.nth(1).click();
  await expect(cell(page, 0, 1)).toHaveText(/^\d+$/);
  await tabs.nth(2).click();
  await expect(page.getByRole("status")).toContainText("Cancelled");
  await page.goBack();
  await expect(cell(page, 0, 1)).toHaveText(/^\d+$/);
  await page.goBack();
  await expect(cell(page, 39, 1)).toHaveText(shown ?? "");
  expect(await numRun()).toBe(2);

  // A table is read again, in the view in which it was left.
  await chooseTable(page, "flights");
  await expect(page.getByRole("status")).toContainText("Complete");
  const reset = page.getByRole("button", { name: "Reset view" });
  await expect(reset).toBeHidden();
  await page.getByRole("columnheader", { name: /^distance/ }).click();
  const distances = page.getByRole("columnheader", { name: /^distance/ });
  await expect(distances).toHaveAttribute("aria-sort", "ascending");
  await expect(reset).toBeVisible();
  const headers = page.getByRole("columnheader");
  const numColumns = await headers.count();
  await page.locator("colonnade-viewer").evaluate((viewer: ColonnadeViewer) => {
    viewer.state = { columns: { shown: ["distance", "delay"], pinned: ["delay"] } };
  });
  await expect(headers).toHaveText([/^delay/, /^distance/]);
  await chooseTable(page, "every_type");
  await expect(page.getByRole("columnheader", { name: /^row\b/ })).toBeVisible();
  await expect(reset).toBeHidden();
  await chooseTable(page, "flights");
  await expect(distances).toHaveAttribute("aria-sort", "ascending");
  await expect(page).toHaveURL(/table=flights&columns=delay,distance&pinned=delay&sort=distance/);
  await expect(headers).toHaveText([/^delay/, /^distance/]);
  await reset.click();
  await expect(headers).toHaveCount(numColumns);
  await expect(distances).toHaveAttribute("aria-sort", "none");
  await expect(page).toHaveURL(/table=flights$/);
  await expect(reset).toBeHidden();
  await page.goBack();
  await expect(distances).toHaveAttribute("aria-sort", "ascending");
});

test("the history can be searched, and an entry opens its statement", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  for (const word of ["apple", "pear"]) {
    await sql.fill(`select '${word}' as fruit`);
    await page.keyboard.press("Control+Enter");
    await expect(cell(page, 0, 1)).toHaveText(word);
  }
  await page.getByRole("button", { name: "History" }).click();
  const dialog = page.getByRole("dialog", { name: "History" });
  const entries = dialog.getByRole("listitem");
  await expect(entries).toHaveText([/pear.*1 row · \d+ ms/s, /apple.*1 row · \d+ ms/s]);
  await dialog.getByRole("searchbox").fill("appl");
  await expect(entries).toHaveCount(1);
  await entries.getByRole("button").click();
  await expect(dialog).toBeHidden();
  await expect(page.locator(".cm-content")).toHaveText("select 'apple' as fruit");
  await expect(page.locator(".cm-content")).toBeFocused();
});

test("a plan is shown as text and as a tree, and with metrics", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  await sql.fill("select origin, count(*) from flights group by 1");
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByRole("region", { name: "Logical plan" })).toContainText(
    "TableScan: flights",
  );
  await expect(page.getByRole("region", { name: "Physical plan" })).toContainText("AggregateExec");
  await page.getByRole("button", { name: "Tree" }).click();
  await expect(page.getByRole("region", { name: "Physical plan" })).toContainText("┌──");
  await page.getByRole("button", { name: "Analyze" }).click();
  await expect(page.getByRole("region", { name: /with metrics/ })).toContainText("output_rows=229");
  await page.getByRole("tab", { name: "Rows" }).click();
  await expect(page.getByRole("status")).toContainText("Complete: 229 rows");
});

test("Analyze can be cancelled, also at the server", async ({ page, demo }) => {
  const ids = resultIds(page);
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  await sql.fill("select sum(a.l_quantity * b.l_quantity) from lineitem a cross join lineitem b");
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByRole("region", { name: "Logical plan" })).toBeVisible();
  await page.getByRole("button", { name: "Analyze" }).click();
  const running = async () => (await demo.running(ids)).length;
  await expect.poll(running).toBe(1);
  await sql.click();
  await page.keyboard.press("Escape");
  await expect(page.getByText("Cancelled.")).toBeVisible();
  await expect.poll(running).toBe(0);
  await page.getByRole("button", { name: "Explain again" }).click();
  await expect.poll(running).toBe(1);
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText("Cancelled.")).toBeVisible();
  await expect.poll(running).toBe(0);
});

test("the keyboard moves in a result while it streams", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const sql = await openEditor(page);
  await sql.fill("select * from lineitem where l_quantity > 1");
  await page.keyboard.press("Control+Enter");
  await expect(cell(page, 0, 1)).toHaveText("1");
  await cell(page, 0, 1).click();
  await page.keyboard.press("PageDown");
  await expect(page.getByRole("progressbar")).toBeVisible();
  await expect(cell(page, 20, 1)).toBeVisible();
  // Soon it is where the statement was run, and no longer below the rows.
  const run = page.locator("sql-panel .primary");
  await expect(run).toHaveText("Cancel");
  await run.click();
});
