import type { Page } from "@playwright/test";
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
  SMALL_COMPLETE,
  show,
  status,
  test,
  textOf,
} from "./columns.js";
import { inCheckout } from "./server.js";

declare global {
  var wereSorted: (boolean | undefined)[];
}

test("a header sorts ascending, descending and not at all, by mouse and by keyboard", {
  tag: "@firefox",
}, async ({ page, pages, server }) => {
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
  await expect(page.getByRole("alert")).toContainText("once all have arrived");
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

const reportedSorts = (page: Page) =>
  page.evaluate(() =>
    globalThis.reported.filter(([type]) => type === "sort").map(([, sort]) => sort),
  );

test("six million rows: the first ones are shown while the others are sorted", async ({
  page,
  pages,
  demo: server,
}) => {
  const columns = ["l_orderkey", "l_extendedprice", "l_quantity", "l_comment"];
  const path = `/v1/tables/lineitem/rows?columns=${columns}`;
  await show({ page, pages, server }, path, { memory: "2GiB" });
  await expect(status(page)).toContainText("Complete: 6,001,215 rows", { timeout: 60_000 });
  const bar = page.getByRole("progressbar", { name: "Sorting and filtering" });
  const price = header(page, "l_extendedprice");
  // Whether rows were still being sorted when the first ones were shown, or the sort was reported.
  await page.locator("colonnade-viewer").evaluate((element) => {
    const viewer = element as ColonnadeViewer;
    globalThis.wereSorted = [];
    viewer.addEventListener("colonnade-sort", () => {
      globalThis.wereSorted.push(viewer.view?.isDone);
    });
  });
  const byPrice = { table: "lineitem", limit: 8, sort: ["l_extendedprice"] };
  const cheapest = await answered(page, server, byPrice, columns);
  const dearest = await answered(page, server, { ...byPrice, sort: ["-l_extendedprice"] }, columns);

  await price.click();
  await expect.poll(async () => (await reportedSorts(page)).length).toBe(1);
  await price.click();
  await expect(price).toHaveAttribute("aria-sort", "descending");
  // The header says what is asked for; rows of another order are shown from the first one on.
  const numShown = async () => (await reportedSorts(page)).length;
  await expect.poll(numShown, { intervals: [10] }).toBe(2);
  // At once, far away from the rows that have their places.
  await cell(page, 0, 2).click();
  await page.keyboard.press("Control+End");
  await expect(cell(page, 6_001_214, 2)).toHaveText(cheapest[0]?.[1] ?? "");
  await page.keyboard.press("Control+Home");
  await expectRows(page, dearest);
  await expect(bar).toBeHidden();
  expect(await page.evaluate(() => globalThis.wereSorted)).toEqual([false, false]);

  // Texts take seconds; as soon as the first ones are shown, the sort is cancelled.
  await page.locator("colonnade-viewer").evaluate((element) => {
    const viewer = element as ColonnadeViewer;
    const cancel = async () => {
      await new Promise(requestAnimationFrame);
      viewer.shadowRoot?.querySelector<HTMLElement>("[part=cancel]")?.click();
    };
    viewer.addEventListener("colonnade-sort", cancel, { once: true });
  });
  const comment = header(page, "l_comment");
  await comment.click();
  await expect
    .poll(async () => (await reportedSorts(page)).slice(-2))
    .toEqual([
      [{ column: "l_comment", descending: false }],
      [{ column: "l_extendedprice", descending: true }],
    ]);
  await expect(bar).toBeHidden();
  await expect(price).toHaveAttribute("aria-sort", "descending");
  await expect(comment).toHaveAttribute("aria-sort", "none");
  await expectRows(page, dearest);
  expect((await getState(page)).sort).toEqual([{ column: "l_extendedprice", descending: true }]);

  const filter = { op: "gt", column: "l_quantity", value: "49" };
  await page.locator("colonnade-viewer").evaluate((viewer, wanted) => {
    Object.assign(viewer, { filter: wanted });
  }, filter);
  await expect(status(page)).toContainText("filtered by l_quantity");
  const both = { ...byPrice, sort: ["-l_extendedprice"], filter };
  await expectRows(page, await answered(page, server, both, columns));
  await expect(status(page)).toContainText("Complete: 119,846 rows");

  // A worker with so much memory is not kept for the next table. The answers have workers too.
  const numWorkers = page.workers().length;
  await page.locator("colonnade-viewer").evaluate((viewer) => viewer.remove());
  await expect.poll(() => page.workers().length, { timeout: 10_000 }).toBe(numWorkers - 1);
});
