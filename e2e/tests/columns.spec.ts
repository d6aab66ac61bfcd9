import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { test as base, cell, expect } from "./fixtures.js";
import { PageServer } from "./package.js";
import { inCheckout, Server } from "./server.js";

const PAGE = `<!doctype html><title>Columns</title>
<style>body { margin: 0 } colonnade-viewer { height: 100vh }</style>
<script type="module">
import { open } from "/index.js";
import "/define.js";
window.openTable = open;
const viewer = document.createElement("colonnade-viewer");
window.told = [];
for (const name of ["sort", "filter", "state"]) {
  viewer.addEventListener("colonnade-" + name, ({ detail }) => told.push([name, detail]));
}
for (const [name, value] of new URLSearchParams(location.search)) viewer.setAttribute(name, value);
document.body.append(viewer);
</script>`;

declare global {
  var told: [string, unknown][];
}

const test = base.extend<object, { pages: PageServer; server: Server }>({
  pages: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const pages = new PageServer(PAGE);
      await pages.listen();
      await use(pages);
      pages.close();
    },
    { scope: "worker" },
  ],
  server: [
    async ({ pages }, use) => {
      const server = await Server.start(["--allow-origin", pages.origin]);
      await use(server);
      await server.kill();
    },
    { scope: "worker" },
  ],
});

const header = (page: Page, name: string) =>
  page.getByRole("columnheader", { name: new RegExp(`^${name}\\b`) });
const status = (page: Page) => page.getByRole("status");
const lastTold = (page: Page, name: string) =>
  page.evaluate((wanted) => globalThis.told.filter(([type]) => type === wanted).at(-1)?.[1], name);
const getState = (page: Page) =>
  page.locator("colonnade-viewer").evaluate((viewer) => {
    return (viewer as unknown as { state: Record<string, unknown> }).state;
  });

async function show(
  { page, pages, server }: { page: Page; pages: PageServer; server: Server },
  path: string,
  attributes: Record<string, string> = {},
): Promise<void> {
  const query = new URLSearchParams({ src: `${server.origin}${path}`, ...attributes });
  await page.goto(`${pages.origin}/?${query}`);
}

/** Texts of the first rows of a request, as another reader of the server has them. */
function answered(page: Page, server: Server, body: object, columns: string[]) {
  return page.evaluate(
    async ({ address, json, names }) => {
      const request = new Request(address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: json,
      });
      const table = await globalThis.openTable(request as unknown as string);
      await table.done;
      return table.text({ start: 0, end: 8 }, names);
    },
    { address: `${server.origin}/v1/query`, json: JSON.stringify(body), names: columns },
  );
}

async function expectRows(page: Page, rows: (string | null)[][], firstColumn = 1): Promise<void> {
  for (const [row, texts] of rows.entries()) {
    for (const [index, text] of texts.entries()) {
      await expect(cell(page, row, firstColumn + index)).toHaveText(text ?? "null");
    }
  }
}

const FLIGHTS = "/v1/tables/flights/rows";

test("a header sorts up, down and not at all, by mouse and by keyboard", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText("Complete: 3,000,000 rows");
  const delay = header(page, "delay");
  await expect(delay).toHaveAttribute("aria-sort", "none");
  const inOrder = await cell(page, 0, 1).textContent();
  await delay.click();
  await expect(status(page)).toContainText("sorted by delay");
  await expect(delay).toHaveAttribute("aria-sort", "ascending");
  const columns = ["date", "delay", "distance"];
  const wanted = { table: "flights", limit: 8, sort: ["delay"] };
  await expectRows(page, await answered(page, server, wanted, columns));
  expect(await lastTold(page, "sort")).toEqual([{ column: "delay", descending: false }]);

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
  await expect(cell(page, 0, 1)).toHaveText(inOrder ?? "");
  await page.keyboard.press("ArrowDown");
  await expect(cell(page, 0, 3)).toBeFocused();
});

test("the server sorts what is not all here, and nobody sees the difference", async ({
  page,
  pages,
  server,
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
  server,
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

test("the work can be stopped, and what was there stays", async ({ page, pages, server }) => {
  await show({ page, pages, server }, "/v1/tables/lineitem/rows", { memory: "16MiB" });
  await expect(status(page)).toContainText("Windowed");
  await header(page, "l_quantity").click();
  await expect(page.getByRole("progressbar", { name: "Sorting and filtering" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("progressbar")).toBeHidden();
  await expect(header(page, "l_quantity")).toHaveAttribute("aria-sort", "none");
  await expect(cell(page, 0, 1)).toHaveText("1");
  await expect(status(page)).toContainText("Windowed");
  expect(await lastTold(page, "sort")).toBeUndefined();
});

test("a file that waits for memory says that it cannot be sorted yet", async ({ page, pages }) => {
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

test("nested columns offer no order", async ({ page, pages, server }) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows?columns=row,struct,uint64");
  await expect(status(page)).toContainText("Complete: 24 rows");
  await expect(header(page, "struct")).not.toHaveAttribute("aria-sort");
  await header(page, "struct").click();
  await header(page, "uint64").click();
  await expect(header(page, "uint64")).toHaveAttribute("aria-sort", "ascending");
  const wanted = { table: "every_type", limit: 8, sort: ["uint64"] };
  await expectRows(page, await answered(page, server, wanted, ["row", "struct", "uint64"]));
});

async function openMenu(page: Page, name: string): Promise<void> {
  await header(page, name).hover();
  await header(page, name).locator("button").click();
  await expect(page.getByRole("dialog", { name: `Column ${name}` })).toBeVisible();
}

for (const [where, memory] of [
  ["here", "1GiB"],
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
    await page.getByLabel("How the text is compared").selectOption("starts_with");
    await page.getByRole("textbox", { name: "Text" }).fill("H");
    await page.getByRole("button", { name: "Apply filter" }).click();
    const filter = {
      and: [
        { op: "ge", column: "distance", value: "4000" },
        { op: "starts_with", column: "origin", value: "H" },
      ],
    };
    await expect.poll(() => lastTold(page, "filter")).toEqual(filter);
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

test("a filter that nothing passes can be taken back by keyboard", async ({
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
  await expect(page.getByText("No row passes the filter.")).toBeVisible();
  await expect(header(page, "utf8")).toBeFocused();
  await page.keyboard.press("Alt+ArrowDown");
  await page.getByRole("button", { name: "Remove filter", exact: true }).click();
  await expect(status(page)).toContainText("Complete: 24 rows");

  await openMenu(page, "bool");
  await page.getByLabel("true").check();
  await page.getByLabel("null").check();
  await page.getByRole("button", { name: "Apply filter" }).click();
  await expect
    .poll(() => lastTold(page, "filter"))
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

const shownHeaders = (page: Page) =>
  page.getByRole("columnheader").locator(".name").allTextContents();
const widthPx = async (page: Page, name: string) =>
  (await header(page, name).boundingBox())?.width ?? 0;

test("columns are made wider, moved and hidden, and the state brings it all back", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText("Complete: 3,000,000 rows");
  const before = await widthPx(page, "delay");
  const box = await header(page, "delay").boundingBox();
  if (box === null) throw new Error("there is no such header");
  await page.mouse.move(box.x + box.width - 3, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width + 97, box.y + 10, { steps: 5 });
  await page.mouse.up();
  expect(await widthPx(page, "delay")).toBeCloseTo(before + 100, 0);
  await expect(header(page, "delay")).toHaveAttribute("aria-sort", "none");
  await page.mouse.dblclick(box.x + box.width + 97, box.y + 10);
  await expect.poll(() => widthPx(page, "delay")).toBeLessThan(before + 30);
  await header(page, "delay").focus();
  const fitted = await widthPx(page, "delay");
  await page.keyboard.press("Alt+ArrowRight");
  await expect.poll(() => widthPx(page, "delay")).toBeCloseTo(fitted + 10, 0);

  await page.keyboard.press("Shift+ArrowRight");
  await expect(header(page, "delay")).toBeFocused();
  await expect(header(page, "delay")).toHaveAttribute("aria-colindex", "3");
  const date = await header(page, "date").boundingBox();
  const origin = await header(page, "origin").boundingBox();
  if (date === null || origin === null) throw new Error("there are no such headers");
  await page.mouse.move(origin.x + 20, origin.y + 10);
  await page.mouse.down();
  await page.mouse.move(date.x + 20, date.y + 10, { steps: 8 });
  await page.mouse.up();
  await expect(header(page, "origin")).toHaveAttribute("aria-colindex", "1");
  await expect(header(page, "origin")).toHaveAttribute("aria-sort", "none");
  await openMenu(page, "date");
  await page.getByRole("button", { name: "Hide" }).click();
  await expect(page.getByRole("grid")).toHaveAttribute("aria-colcount", "4");
  await expect
    .poll(() => shownHeaders(page))
    .toEqual(["origin", "distance", "delay", "destination"]);
  await header(page, "delay").click();
  await expect(status(page)).toContainText("sorted by delay");
  const wanted = { table: "flights", limit: 8, sort: ["delay"] };
  const columns = ["origin", "distance", "delay", "destination"];
  const rows = await answered(page, server, wanted, columns);
  await expectRows(page, rows);

  const state = await getState(page);
  await expect.poll(() => lastTold(page, "state")).toEqual(state);
  const width = await widthPx(page, "delay");
  await show({ page, pages, server }, FLIGHTS);
  await page.locator("colonnade-viewer").evaluate(
    (viewer, value) => {
      Object.assign(viewer, { state: JSON.parse(value) });
    },
    JSON.stringify({ ...state, row: 5000 }),
  );
  await expect(status(page)).toContainText("sorted by delay");
  await expect(cell(page, 5000, 1)).toBeVisible();
  expect(await widthPx(page, "delay")).toBeCloseTo(width, 0);
  await page.keyboard.press("Control+Home");
  await expect.poll(() => getState(page)).toMatchObject({ columns: state.columns });
});

test("hidden columns are found and shown by the list", async ({ page, pages, server }) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows");
  await expect(status(page)).toContainText("Complete: 24 rows");
  await page.locator("colonnade-viewer").evaluate((viewer) => {
    Object.assign(viewer, { columns: ["utf8", "row"] });
  });
  await expect.poll(() => shownHeaders(page)).toEqual(["utf8", "row"]);
  const texts = await answered(page, server, { table: "every_type", limit: 8 }, ["utf8", "row"]);
  for (const [row, [, number]] of texts.entries()) {
    await expect(cell(page, row, 2)).toHaveText(number ?? "null");
  }
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("searchbox", { name: "Search columns" }).fill("uint6");
  await page.getByRole("checkbox", { name: /uint64/ }).check();
  await page.keyboard.press("Escape");
  await expect.poll(() => shownHeaders(page)).toEqual(["utf8", "row", "uint64"]);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.getByRole("grid")).toHaveAttribute("aria-colcount", "57");
});

test("a pinned column stays in sight, with its cells", async ({ page, pages, server }) => {
  await show({ page, pages, server }, "/v1/tables/every_type/rows");
  await expect(status(page)).toContainText("Complete: 24 rows");
  await openMenu(page, "int8");
  await page.getByRole("button", { name: "Pin left" }).click();
  await expect(header(page, "int8")).toHaveAttribute("aria-colindex", "1");
  await expect(header(page, "int8")).toBeFocused();
  await expect(header(page, "row")).toHaveAttribute("aria-colindex", "2");
  const { x: left } = (await header(page, "int8").boundingBox()) ?? { x: -1 };
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await expect(cell(page, 0, 57)).toBeFocused();
  await expect(header(page, "row")).toHaveCount(0);
  expect((await header(page, "int8").boundingBox())?.x).toBeCloseTo(left, 0);
  expect((await cell(page, 5, 1).boundingBox())?.x).toBeCloseTo(left, 0);
  const wanted = { table: "every_type", limit: 8 };
  await expectRows(page, await answered(page, server, wanted, ["int8"]));
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await expect(cell(page, 0, 2)).toBeFocused();
  const row = (await cell(page, 0, 2).boundingBox())?.x ?? 0;
  expect(row).toBeGreaterThan(left + 30);
  await openMenu(page, "int8");
  await page.getByRole("button", { name: "Unpin" }).click();
  await expect.poll(() => getState(page)).toMatchObject({ columns: { pinned: [] } });
});

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in ${colorScheme}`, () => {
    test.use({ colorScheme });

    test("headers, menus and filters are accessible", async ({ page, pages, server }) => {
      const expectAccessible = async () => {
        // The page around the element is not a whole one.
        const axe = new AxeBuilder({ page }).include("colonnade-viewer").disableRules("region");
        const { violations } = await axe.analyze();
        const found = violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]);
        expect(found).toEqual([]);
      };
      await show({ page, pages, server }, FLIGHTS);
      await expect(status(page)).toContainText("Complete: 3,000,000 rows");
      await openMenu(page, "date");
      await page.getByLabel("From").fill("2001-06-01");
      await expectAccessible();
      await page.keyboard.press("Enter");
      await expect(page.getByRole("group", { name: "Filters" })).toBeVisible();
      await header(page, "origin").click({ modifiers: ["Shift"] });
      await expect(status(page)).toContainText("sorted by origin");
      await expectAccessible();
      await page.getByRole("button", { name: "Columns" }).click();
      await expectAccessible();
    });
  });
}

test("the module and the server order every type in the same way", async ({
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
