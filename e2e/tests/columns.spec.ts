import type { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import type { ColonnadeViewer } from "colonnade";
import { elementAlone, expectAccessible } from "./accessible.js";
import {
  answered,
  cell,
  doubleClick,
  expect,
  expectRows,
  FLIGHTS,
  getState,
  header,
  lastReported,
  openMenu,
  pressAt,
  SMALL_COMPLETE,
  show,
  status,
  test,
} from "./columns.js";

const shownHeaders = (page: Page) =>
  page.getByRole("columnheader").locator(".name").allTextContents();
const widthPx = async (page: Page, name: string) =>
  (await header(page, name).boundingBox())?.width ?? 0;

test("columns are resized, moved and hidden, and the state restores them", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText(SMALL_COMPLETE);
  const before = await widthPx(page, "delay");
  const box = await header(page, "delay").boundingBox();
  if (box === null) throw new Error("there is no such header");
  await page.mouse.move(box.x + box.width - 3, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width + 97, box.y + 10, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => widthPx(page, "delay")).toBeCloseTo(before + 100, 0);
  await expect(header(page, "delay")).toHaveAttribute("aria-sort", "none");
  await doubleClick(header(page, "delay").locator(".edge"));
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
  await expect.poll(() => lastReported(page, "state")).toEqual(state);
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

test("hidden columns are found and shown in the list of columns", async ({
  page,
  pages,
  server,
}) => {
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

test("a pinned column and its cells stay visible", async ({ page, pages, server }) => {
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

/** The test page has no landmarks, so the rule for regions is off. */
const elementWithin = (axe: AxeBuilder) => elementAlone(axe).disableRules("region");

test("headers, menus and filters are accessible", async ({ page, pages, server }) => {
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText(SMALL_COMPLETE);
  await openMenu(page, "date");
  await page.getByLabel("From").fill("2001-06-01");
  await expectAccessible(page, elementWithin);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("group", { name: "Filters" })).toBeVisible();
  await header(page, "origin").click({ modifiers: ["Shift"] });
  await expect(status(page)).toContainText("sorted by origin");
  await expectAccessible(page, elementWithin);
  await openMenu(page, "origin");
  await page.getByRole("checkbox", { name: /^ORD/ }).uncheck();
  await expectAccessible(page, elementWithin);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Columns" }).click();
  await expectAccessible(page, elementWithin);
});

test("a part of the columns' state leaves the rest as it is", async ({ page, pages, server }) => {
  await show({ page, pages, server }, `${FLIGHTS}?limit=1000`);
  await expect(status(page)).toContainText("Complete");
  await expect(page.getByRole("columnheader")).toHaveCount(5);
  const names = await shownHeaders(page);
  const set = (columns: object) =>
    page.locator("colonnade-viewer").evaluate((viewer, columns) => {
      Object.assign(viewer, { state: { columns } });
    }, columns);
  const [first = "", second = "", third = ""] = names;
  await set({ pinned: [second] });
  await set({ widthsPx: { [third]: 222 } });
  const shown = [second, third, first];
  await set({ shown });
  const widthsPx = { [third]: 222 };
  await expect
    .poll(() => getState(page))
    .toMatchObject({
      columns: { shown, pinned: [second], widthsPx },
    });
  await expect.poll(() => shownHeaders(page)).toHaveLength(3);
});

test("a press on a header that then moves sorts by its column", { tag: "@firefox" }, async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, FLIGHTS);
  await expect(status(page)).toContainText("Complete");
  await header(page, "delay").hover();
  await page.mouse.down();
  await page.locator("colonnade-viewer").evaluate(async (viewer: ColonnadeViewer) => {
    viewer.state = { columns: { widthsPx: { date: 600 } } };
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
  });
  await page.mouse.up();
  await expect(header(page, "delay")).toHaveAttribute("aria-sort", "ascending");
});

test("a press that is released outside of the header moves no column", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, `${FLIGHTS}?limit=1000`);
  await expect(status(page)).toContainText("Complete");
  const box = await page.getByRole("columnheader").first().boundingBox();
  if (box === null) throw new Error("there is no header");
  const [x, y] = [box.x + 20, box.y + 10];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y + 300);
  await page.mouse.up();
  await page.mouse.move(x, y);
  await page.mouse.move(x + 200, y, { steps: 5 });
  await expect(page.locator(".header-cell.dragged")).toHaveCount(0);
});

test("a click that closes a column's menu keeps its focus", { tag: "@firefox" }, async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, `${FLIGHTS}?limit=1000`);
  await expect(status(page)).toContainText("Complete");
  await page.getByRole("columnheader").first().hover();
  await page.getByRole("columnheader").first().locator("button").click();
  const menu = page.getByRole("dialog", { name: /^Column / });
  await expect(menu).toBeVisible();
  await pressAt(page, 10, 3);
  await expect(menu).toHaveCount(0);
  await expect(cell(page, 10, 3)).toBeFocused();
  await page.getByRole("columnheader").first().hover();
  await page.getByRole("columnheader").first().locator("button").click();
  await expect(menu).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("columnheader").first()).toBeFocused();
});

test("the Columns button gets its focus back from its panel", async ({ page, pages, server }) => {
  await show({ page, pages, server }, `${FLIGHTS}?limit=1000`);
  await expect(status(page)).toContainText("Complete");
  const button = page.getByRole("button", { name: "Columns" });
  const panel = page.getByRole("dialog", { name: "Columns" });
  for (const open of [() => button.click(), () => button.press("Enter")]) {
    await open();
    await panel.getByRole("checkbox", { name: /^delay/ }).click();
    await page.keyboard.press("Escape");
    await expect(panel).toHaveCount(0);
    await expect(button).toBeFocused();
  }
});

test("cells look unpinned when there is no room for pinned columns", async ({
  page,
  pages,
  server,
}) => {
  await show({ page, pages, server }, `${FLIGHTS}?limit=1000`);
  await expect(status(page)).toContainText("Complete");
  await expect(page.getByRole("columnheader")).toHaveCount(5);
  const pinned = (await shownHeaders(page)).slice(0, 1);
  await page.locator("colonnade-viewer").evaluate((viewer, pinned) => {
    Object.assign(viewer, { state: { columns: { pinned } } });
  }, pinned);
  await expect(cell(page, 0, 1)).toHaveClass(/pinned/);
  await page.setViewportSize({ width: 240, height: 800 });
  await expect(page.locator("[role=columnheader].pinned")).toHaveCount(0);
  await expect(page.locator("[role=gridcell].pinned")).toHaveCount(0);
});
