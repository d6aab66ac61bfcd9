import {
  answered,
  cell,
  expect,
  expectRows,
  FLIGHTS,
  getState,
  header,
  lastReported,
  SMALL_COMPLETE,
  show,
  status,
  test,
  textOf,
} from "./columns.js";
import { inCheckout } from "./server.js";

test("a header sorts ascending, descending and not at all, by mouse and by keyboard", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText(SMALL_COMPLETE);
  const delay = header(page, "delay");
  await expect(delay).toHaveAttribute("aria-sort", "none");
  const inOrder = await textOf(cell(page, 0, 1));
  await delay.click();
  await expect(status(page)).toContainText("sorted by delay");
  await expect(delay).toHaveAttribute("aria-sort", "ascending");
  const columns = ["date", "delay", "distance"];
  const wanted = { table: "flights", limit: 8, sort: ["delay"] };
  await expectRows(page, await answered(page, server, wanted, columns));
  expect(await lastReported(page, "sort")).toEqual([{ column: "delay", descending: false }]);

  await expect(delay).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(delay).toHaveAttribute("aria-sort", "descending");
  await expectRows(page, await answered(page, server, { ...wanted, sort: ["-delay"] }, columns));
  await page.keyboard.press("ArrowRight");
  await expect(header(page, "distance")).toBeFocused();
  await page.keyboard.press("Shift+Enter");
  await expect(header(page, "distance")).toHaveAttribute("aria-sort", "ascending");
  await expect(delay).toHaveAttribute("aria-sort", "descending");
  await expect(delay).toContainText("↓1");
  await expect(status(page)).toContainText("sorted by delay descending, distance");
  const both = { ...wanted, sort: ["-delay", "distance"] };
  await expectRows(page, await answered(page, server, both, columns));
  expect((await getState(page)).sort).toEqual([
    { column: "delay", descending: true },
    { column: "distance", descending: false },
  ]);

  await page.locator("colonnade-viewer").evaluate((viewer) => {
    Object.assign(viewer, { sort: [] });
  });
  await expect(delay).toHaveAttribute("aria-sort", "none");
  await expect(cell(page, 0, 1)).toHaveText(inOrder);
  await page.keyboard.press("ArrowDown");
  await expect(cell(page, 0, 3)).toBeFocused();
});

test("the server sorts a windowed table like a table in memory", async ({
  page,
  pages,
  demo: server,
}) => {
  const context = { page, pages, server };
  await show(context, FLIGHTS, { memory: "16MiB" });
  await expect(status(page)).toContainText("Windowed");
  await page.getByLabel("Go to row").fill("2000000");
  await page.getByLabel("Go to row").press("Enter");
  await header(page, "distance").click();
  await expect(status(page)).toContainText("sorted by distance");
  await expect(header(page, "distance")).toHaveAttribute("aria-sort", "ascending");
  const wanted = { table: "flights", limit: 8, sort: ["distance"] };
  await expectRows(page, await answered(page, server, wanted, ["date", "delay", "distance"]));
  await expect(status(page)).toContainText("Windowed: rows load as you scroll");
  await header(page, "distance").click();
  await header(page, "distance").click();
  await expect(status(page)).not.toContainText("sorted");
  await expect(cell(page, 0, 1)).toHaveText("2001-01-01 00:01:00.000000");
});

test("a statement's rows are sorted by the server while they stream", async ({
  page,
  pages,
  demo: server,
}) => {
  await page.goto(`${pages.origin}/`);
  await page.locator("colonnade-viewer").evaluate((viewer, origin) => {
    const sql = "select l_orderkey, l_quantity from lineitem where l_linenumber = 2";
    const source = new Request(`${origin}/v1/query`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ sql }),
    });
    Object.assign(viewer, {
      source,
      state: { sort: [{ column: "l_quantity", descending: true }] },
    });
  }, server.origin);
  await expect(header(page, "l_quantity")).toHaveAttribute("aria-sort", "descending");
  await expect(status(page)).toContainText("Complete: 1,285,828 rows, ");
  await expect(cell(page, 0, 2)).toHaveText("50.00");
});

test("sorting can be cancelled, and the shown rows stay", async ({ page, pages, server }) => {
  await show({ page, pages, server }, "/v1/tables/lineitem/rows", { memory: "1MiB" });
  await expect(status(page)).toContainText("Windowed");
  // The request for the sorted rows gets no answer.
  await page.route("**/v1/query", () => undefined);
  await header(page, "l_quantity").click();
  await expect(page.getByRole("progressbar", { name: "Sorting and filtering" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("progressbar")).toBeHidden();
  await expect(header(page, "l_quantity")).toHaveAttribute("aria-sort", "none");
  await expect(cell(page, 0, 1)).toHaveText("1");
  await expect(status(page)).toContainText("Windowed");
  expect(await lastReported(page, "sort")).toBeUndefined();
});

test("a file that is paused for memory cannot be sorted, and an alert says so", async ({
  page,
  pages,
}) => {
  await page.goto(`${pages.origin}/?memory=6kB`);
  const response = await page.request.get(`${pages.origin}/`);
  expect(response.ok()).toBe(true);
  const { readFileSync } = await import("node:fs");
  const base64 = readFileSync(inCheckout("fixtures/numbered.arrows")).toString("base64");
  await page.locator("colonnade-viewer").evaluate((viewer, text) => {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    Object.assign(viewer, { source: new Blob([bytes]) });
  }, base64);
  await expect(page.getByRole("alert")).toContainText("is full");
  const first = page.getByRole("columnheader").first();
  await first.click();
  await expect(page.getByRole("alert")).toContainText("once all of them have arrived");
  await expect(first).toHaveAttribute("aria-sort", "none");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await expect(page.getByRole("alert")).toContainText("is full");
});

test("nested columns cannot be sorted", async ({ page, pages, server }) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows?columns=row,struct,uint64");
  await expect(status(page)).toContainText("Complete: 24 rows");
  await expect(header(page, "struct")).not.toHaveAttribute("aria-sort");
  await header(page, "struct").click();
  await header(page, "uint64").click();
  await expect(header(page, "uint64")).toHaveAttribute("aria-sort", "ascending");
  const wanted = { table: "every_type", limit: 8, sort: ["uint64"] };
  await expectRows(page, await answered(page, server, wanted, ["row", "struct", "uint64"]));
});

test("the wasm module and the server sort every type in the same order", async ({
  page,
  pages,
  server,
}) => {
  await page.goto(`${pages.origin}/`);
  const different = await page.evaluate(async (origin) => {
    interface Sorted {
      schema: { fields: { name: string; type: string }[] };
      sort(keys: object[]): Promise<Sorted>;
      text(range: object, columns: string[]): Promise<(string | null)[][]>;
      done: Promise<void>;
    }
    const openTable = globalThis.openTable as unknown as (source: unknown) => Promise<Sorted>;
    const local = await openTable(`${origin}/v1/tables/every_type/rows`);
    await local.done;
    const all = { start: 0, end: 1000 };
    const found: string[] = [];
    for (const { name, type } of local.schema.fields) {
      if (/^null$|list|struct|map|union/.test(type)) continue;
      for (const descending of [false, true]) {
        const sort = [{ column: name, descending }];
        const request = new Request(`${origin}/v1/query`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ table: "every_type", sort }),
        });
        const [here, there] = await Promise.all([local.sort(sort), openTable(request)]).catch(
          (error: Error) => {
            throw new Error(`${name}: ${error.message}`);
          },
        );
        await there.done;
        const [got, wanted] = await Promise.all([
          here.text(all, ["row"]),
          there.text(all, ["row"]),
        ]);
        if (JSON.stringify(got) !== JSON.stringify(wanted)) found.push(`${name} ${descending}`);
      }
    }
    return found;
  }, server.origin);
  expect(different).toEqual([]);
});
