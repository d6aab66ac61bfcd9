import type { Page } from "@playwright/test";
import { chromiumAlone, NO_TOUCH } from "./engines.js";
import { cell, clickOn, expect, goToRow, pointAt, test, viewer } from "./viewer.js";

const LINEITEM =
  "/v1/tables/lineitem/rows?columns=l_orderkey,l_linenumber,l_quantity,l_extendedprice,l_comment";

/** The selection as `kind rows columns`. */
function selection(page: Page): Promise<string> {
  return viewer(page).evaluate((element) => {
    const { selection } = element as unknown as {
      selection: { kind: string; rows: object; columns: object } | null;
    };
    if (selection === null) return "none";
    const { kind, rows, columns } = selection;
    return [kind, ...[rows, columns].map((range) => Object.values(range).join("-"))].join(" ");
  });
}

const selected = (page: Page) => page.locator('[role=gridcell][aria-selected="true"]');
const facts = (page: Page) => page.locator("[part=selection]");
const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

test("cells, rows and columns are selected by mouse", async ({ page, stage }) => {
  await stage.show(LINEITEM);
  await expect(page.getByRole("grid")).toHaveAttribute("aria-multiselectable", "true");
  expect(await selection(page)).toBe("none");
  await pointAt(cell(page, 1, 1));
  await page.mouse.down();
  await pointAt(cell(page, 3, 3));
  await page.mouse.up();
  await pointAt(cell(page, 5, 4));
  expect(await selection(page)).toBe("cells 1-4 0-3");
  await expect(selected(page)).toHaveCount(9);
  await expect(cell(page, 3, 3)).toBeFocused();
  await clickOn(cell(page, 5, 2), "Shift");
  expect(await selection(page)).toBe("cells 1-6 0-2");
  await page.locator(".number", { hasText: /^3$/ }).click();
  expect(await selection(page)).toBe("rows 2-3 0-5");
  await page.locator(".number", { hasText: /^5$/ }).click({ modifiers: ["Shift"] });
  expect(await selection(page)).toBe("rows 2-5 0-5");
  await expect(facts(page)).toContainText("15 cells");
  await page.getByRole("columnheader", { name: /l_quantity/ }).click({ modifiers: ["Control"] });
  expect(await selection(page)).toBe("columns 0-6001215 2-3");
  await clickOn(cell(page, 0, 1));
  expect(await selection(page)).toBe("cells 0-1 0-1");
});

test("dragging beyond the edge scrolls and extends the selection", async ({ page, stage }) => {
  chromiumAlone("Playwright moves Firefox's pointer only within the window");
  await stage.show(LINEITEM);
  await pointAt(cell(page, 2, 1));
  await page.mouse.down();
  await page.mouse.move(300, 900);
  const lastRow = async () => Number((await selection(page)).split(" ")[1]?.split("-")[1]);
  await expect.poll(lastRow).toBeGreaterThan(60);
  await page.mouse.up();
  expect(await selection(page)).toMatch(/^cells 2-\d+ 0-[1-5]$/);
  await expect(cell(page, (await lastRow()) - 1, 1)).toBeVisible();
});

test("cells are selected by keyboard", async ({ page, stage }) => {
  await stage.show(LINEITEM);
  await viewer(page).evaluate((element) => {
    const reported: unknown[] = [];
    Object.assign(globalThis, { reported });
    element.addEventListener("colonnade-selection", (event) =>
      reported.push((event as CustomEvent).detail),
    );
  });
  await clickOn(cell(page, 1, 2));
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  expect(await selection(page)).toBe("cells 1-3 1-3");
  await expect(cell(page, 2, 3)).toBeFocused();
  await page.keyboard.press("Control+Shift+End");
  expect(await selection(page)).toBe("cells 1-6001215 1-5");
  await page.keyboard.press("Control+Shift+Home");
  expect(await selection(page)).toBe("cells 0-2 0-2");
  await page.keyboard.press("Shift+PageDown");
  expect(await selection(page)).toMatch(/^cells 1-\d\d 0-2$/);
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Shift+Space");
  expect(await selection(page)).toBe("rows 0-1 0-5");
  await page.keyboard.press("Shift+ArrowDown");
  expect(await selection(page)).toBe("rows 0-2 0-5");
  await page.keyboard.press("Control+Space");
  expect(await selection(page)).toBe("columns 0-6001215 0-1");
  await page.keyboard.press("Control+a");
  expect(await selection(page)).toBe("all 0-6001215 0-5");
  await expect(facts(page)).toContainText("30,006,075 cells");
  await expect(facts(page)).toContainText("no totals above");
  await page.keyboard.press("Escape");
  expect(await selection(page)).toBe("cells 1-2 0-1");
  const reported = await page.evaluate(
    () => (globalThis as unknown as { reported: unknown[] }).reported,
  );
  expect(reported.length).toBe(12);
  expect(reported.at(-1)).toMatchObject({ kind: "cells", rows: { start: 1, end: 2 } });
});

test.describe("by touch", () => {
  test.use({ hasTouch: true });

  test("a tap selects a cell, and its handle extends the selection", async ({ page, stage }) => {
    chromiumAlone(NO_TOUCH);
    await stage.show(LINEITEM);
    await cell(page, 1, 1).tap();
    expect(await selection(page)).toBe("cells 1-2 0-1");
    const handle = page.locator(".handle");
    await expect(handle).toBeVisible();
    const from = await handle.boundingBox();
    const to = await cell(page, 4, 2).boundingBox();
    if (from === null || to === null) throw new Error("not laid out");
    const session = await page.context().newCDPSession(page);
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", x: number, y: number) =>
      session.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: type === "touchEnd" ? [] : [{ x, y }],
      });
    await touch("touchStart", from.x + 11, from.y + 11);
    await touch("touchMove", to.x + 20, to.y + 2);
    await touch("touchMove", to.x + 20, to.y + 10);
    await touch("touchEnd", 0, 0);
    expect(await selection(page)).toBe("cells 1-5 0-2");
  });
});

test("sums are exact for integers and decimals", async ({ page, stage }) => {
  await stage.show(LINEITEM);
  await viewer(page).evaluate((element) => {
    const selection = { kind: "cells", rows: { start: 0, end: 6 }, columns: { start: 3, end: 4 } };
    Object.assign(element, { selection });
  });
  await expect(selected(page)).toHaveCount(6);
  const texts = await selected(page).allTextContents();
  const cents = texts.reduce((sum, text) => sum + BigInt(text.replace(".", "")), 0n);
  const sum = String(cents)
    .replace(/(\d\d)$/, ".$1")
    .replace(/\B(?=(?:\d{3})+\.)/g, ",");
  await expect(facts(page)).toContainText(`sum ${sum}`);
  await expect(viewer(page).locator("[aria-live=polite]")).toContainText("6 cells selected, sum");
});

test("copies are exact in every format", async ({ page, stage }) => {
  await stage.show("/v1/tables/every_type/rows");
  // The rows have an integer that a double cannot hold, and the next column has another type.
  const rows = { start: 1, end: 3 };
  const { names, start, texts } = await viewer(page).evaluate(async (element, range) => {
    const { table } = element as unknown as {
      table: {
        schema: { fields: { name: string }[] };
        text(range: object, columns: number[]): Promise<(string | null)[][]>;
      };
    };
    const all = table.schema.fields.map(({ name }) => name);
    const first = all.indexOf("int64");
    const columns = { start: first, end: first + 2 };
    Object.assign(element, { selection: { kind: "cells", rows: range, columns } });
    element.focus();
    return {
      names: all.slice(first, first + 2),
      start: first,
      texts: await table.text(range, [first, first + 1]),
    };
  }, rows);
  expect(texts[1]?.[0]).toBe("9007199254740993");
  await clickOn(cell(page, 1, start + 1));
  await clickOn(cell(page, 2, start + 2), "Shift");
  await page.keyboard.press("Control+c");
  await expect(facts(page)).toContainText("Copied 4 cells");
  const lines = (separator: string) =>
    texts.map((row) => `${row.map((text) => text ?? "").join(separator)}\n`).join("");
  expect(await clipboard(page)).toBe(lines("\t"));
  const htmlText = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    return (await item?.getType("text/html"))?.text();
  });
  expect(htmlText).toContain("9007199254740993</td>");
  const copied: Record<string, string> = {};
  for (const format of ["csv", "json", "markdown"]) {
    await viewer(page).evaluate(
      (element, to) =>
        (element as unknown as { copy(options: object): Promise<void> }).copy({ format: to }),
      format,
    );
    copied[format] = await clipboard(page);
  }
  expect(copied.csv).toBe(`${names.join(",")}\n${lines(",")}`);
  expect(copied.json).toContain('{"int64":9007199254740993,');
  expect(copied.markdown).toContain("| ---: | ---: |");
  expect(copied.markdown).toContain("| 9007199254740993 |");
});

test("a million cells are copied without blocking the page", async ({ page, stage }) => {
  await stage.show(LINEITEM);
  await viewer(page).evaluate((element) => {
    const selection = {
      kind: "rows",
      rows: { start: 1000, end: 201_000 },
      columns: { start: 0, end: 5 },
    };
    Object.assign(element, { selection });
    const frames = { longestMs: 0 };
    Object.assign(globalThis, { frames });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries())
        frames.longestMs = Math.max(frames.longestMs, duration);
    }).observe({ type: "longtask" });
  });
  await expect(facts(page)).toContainText("sum");
  await page.getByRole("button", { name: "Copy" }).click();
  await expect(facts(page)).toContainText("Copying…");
  await expect(facts(page)).toContainText("Copied 1,000,000 cells");
  const { longestMs } = await page.evaluate(
    () => (globalThis as unknown as { frames: { longestMs: number } }).frames,
  );
  const lines = (await clipboard(page)).split("\n");
  expect(lines.length).toBe(200_001);
  const last = await viewer(page).evaluate(async (element) => {
    const { table } = element as unknown as { table: { text(range: object): Promise<string[][]> } };
    return (await table.text({ start: 200_999, end: 201_000 }))[0];
  });
  expect(lines.at(-2)).toBe(last?.join("\t"));
  console.info(`longest task while a million cells were copied: ${longestMs} ms`);
});

test("Escape cancels copying, and a message says so", async ({ page, stage }) => {
  await stage.show(LINEITEM);
  await page.evaluate(() => navigator.clipboard.writeText("before"));
  await clickOn(cell(page, 0, 1));
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+c");
  await expect(facts(page)).toContainText("Copying…");
  await page.keyboard.press("Escape");
  await expect(facts(page)).toContainText("Copying was cancelled");
  expect(await selection(page)).toBe("all 0-6001215 0-5");
  expect(await clipboard(page)).toBe("before");
});

test("a message says that the browser refused the clipboard", async ({ page, stage }) => {
  await stage.show(LINEITEM);
  await page.evaluate(() => {
    navigator.clipboard.write = () => Promise.reject(new DOMException("no", "NotAllowedError"));
    document.execCommand = () => false;
  });
  await goToRow(page, 5);
  await page.keyboard.press("Control+c");
  await expect(facts(page)).toContainText("Not copied. The browser blocked the clipboard");
  const code = await viewer(page).evaluate((element) =>
    (element as unknown as { copy(): Promise<void> }).copy().catch((error) => error.code),
  );
  expect(code).toBe("clipboard_refused");
});

test("shortcuts work in layouts without Latin letters", async ({ page, stage }) => {
  await stage.show("/v1/tables/lineitem/rows?limit=100");
  const press = (key: string, code: string) =>
    page.evaluate(
      (init) => {
        const { activeElement: host } = document;
        const all = { ...init, ctrlKey: true, bubbles: true, composed: true, cancelable: true };
        host?.shadowRoot?.activeElement?.dispatchEvent(new KeyboardEvent("keydown", all));
      },
      { key, code },
    );
  await clickOn(cell(page, 0, 1));
  await press("ф", "KeyA");
  await expect(cell(page, 5, 3)).toHaveAttribute("aria-selected", "true");
  await press("с", "KeyC");
  await expect(viewer(page)).toContainText(/Copied 1,600 cells/);
  await press("א", "KeyF");
  await expect(page.getByLabel("Find in cells and column names")).toBeFocused();
});

test("the browser's own command copies cells", async ({ page, stage }) => {
  await stage.show("/v1/tables/lineitem/rows?limit=100");
  await clickOn(cell(page, 0, 1));
  await clickOn(cell(page, 1, 2), "Shift");
  // As from a menu: no key of the grid, and the data must be there when the event ends.
  await page.evaluate(() => {
    addEventListener("keydown", ({ key }) => key === "F9" && document.execCommand("copy"));
    addEventListener("copy", ({ clipboardData }) => {
      document.body.dataset.copied = clipboardData?.getData("text/plain");
    });
  });
  await page.keyboard.press("F9");
  await expect(page.locator("body")).toHaveAttribute("data-copied", "1\t155190\n1\t67310");
  await expect(viewer(page)).toContainText("Copied 4 cells");
});
