import type { Page } from "@playwright/test";
import { gate } from "./proxy.js";
import { cell, chromiumOnly, expect, goToRow, pointAt, pressAt, test, viewer } from "./viewer.js";

const COLUMNS = "l_orderkey,l_linenumber,l_quantity,l_extendedprice,l_comment";
const ROWS = 300_000;
const LINEITEM = `/v1/tables/lineitem/rows?columns=${COLUMNS}&limit=${ROWS}`;

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
  await expect.poll(() => selection(page)).toBe("none");
  await cell(page, 1, 1).hover();
  await page.mouse.down();
  await pointAt(page, 3, 3);
  await page.mouse.up();
  await pointAt(page, 8, 4);
  await expect.poll(() => selection(page)).toBe("cells 1-4 0-3");
  await expect(selected(page)).toHaveCount(9);
  await expect(cell(page, 3, 3)).toBeFocused();
  await cell(page, 5, 2).click({ modifiers: ["Shift"] });
  await expect.poll(() => selection(page)).toBe("cells 1-6 0-2");
  await page.locator(".number", { hasText: /^3$/ }).click();
  await expect.poll(() => selection(page)).toBe("rows 2-3 0-5");
  await page.locator(".number", { hasText: /^5$/ }).click({ modifiers: ["Shift"] });
  await expect.poll(() => selection(page)).toBe("rows 2-5 0-5");
  await expect(facts(page)).toContainText("15 cells");
  await page.getByRole("columnheader", { name: /l_quantity/ }).click({ modifiers: ["Control"] });
  await expect.poll(() => selection(page)).toBe(`columns 0-${ROWS} 2-3`);
  await cell(page, 0, 1).click();
  await expect.poll(() => selection(page)).toBe("cells 0-1 0-1");
});

test(
  "dragging beyond the edge scrolls and extends the selection",
  chromiumOnly("Firefox's driver keeps the pointer in the page"),
  async ({ page, stage }) => {
    await stage.show(LINEITEM);
    await cell(page, 2, 1).hover();
    await page.mouse.down();
    await page.mouse.move(300, 900);
    const lastRow = async () => Number((await selection(page)).split(" ")[1]?.split("-")[1]);
    await expect.poll(lastRow).toBeGreaterThan(60);
    await page.mouse.up();
    await expect.poll(() => selection(page)).toMatch(/^cells 2-\d+ 0-[1-5]$/);
    await expect(cell(page, (await lastRow()) - 1, 1)).toBeVisible();
  },
);

test("cells are selected by keyboard", async ({ page, stage }) => {
  await stage.show(LINEITEM);
  await viewer(page).evaluate((element) => {
    const reported: unknown[] = [];
    Object.assign(globalThis, { reported });
    element.addEventListener("colonnade-selection", (event) =>
      reported.push((event as CustomEvent).detail),
    );
  });
  await cell(page, 1, 2).click();
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  await expect.poll(() => selection(page)).toBe("cells 1-3 1-3");
  await expect(cell(page, 2, 3)).toBeFocused();
  await page.keyboard.press("Control+Shift+End");
  await expect.poll(() => selection(page)).toBe(`cells 1-${ROWS} 1-5`);
  await page.keyboard.press("Control+Shift+Home");
  await expect.poll(() => selection(page)).toBe("cells 0-2 0-2");
  await page.keyboard.press("Shift+PageDown");
  await expect.poll(() => selection(page)).toMatch(/^cells 1-\d\d 0-2$/);
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Shift+Space");
  await expect.poll(() => selection(page)).toBe("rows 0-1 0-5");
  await page.keyboard.press("Shift+ArrowDown");
  await expect.poll(() => selection(page)).toBe("rows 0-2 0-5");
  await page.keyboard.press("Control+Space");
  await expect.poll(() => selection(page)).toBe(`columns 0-${ROWS} 0-1`);
  await page.keyboard.press("Control+a");
  await expect.poll(() => selection(page)).toBe(`all 0-${ROWS} 0-5`);
  await expect(facts(page)).toContainText("1,500,000 cells");
  await expect(facts(page)).toContainText("no totals above");
  await page.keyboard.press("Escape");
  await expect.poll(() => selection(page)).toBe("cells 1-2 0-1");
  const reported = await page.evaluate(
    () => (globalThis as unknown as { reported: unknown[] }).reported,
  );
  expect(reported.length).toBe(12);
  expect(reported.at(-1)).toMatchObject({ kind: "cells", rows: { start: 1, end: 2 } });
});

test.describe("by touch", chromiumOnly("speaks the DevTools protocol"), () => {
  test.use({ hasTouch: true });

  test("a tap selects a cell, and its handle extends the selection", async ({ page, stage }) => {
    await stage.show(LINEITEM);
    await cell(page, 1, 1).tap();
    await expect.poll(() => selection(page)).toBe("cells 1-2 0-1");
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
    await expect.poll(() => selection(page)).toBe("cells 1-5 0-2");
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

test("copies are exact in every format", { tag: "@firefox" }, async ({ page, stage }) => {
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
  await pressAt(page, 1, start + 1);
  await page.keyboard.down("Shift");
  await pressAt(page, 2, start + 2);
  await page.keyboard.up("Shift");
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
  // Copying may be too fast for a test to see its progress.
  await viewer(page).evaluate((element) => {
    const shown: string[] = [];
    Object.assign(globalThis, { shown });
    const root = element.shadowRoot as ShadowRoot;
    new MutationObserver(() => {
      shown.push(root.querySelector("[part=selection]")?.textContent ?? "");
    }).observe(root, { childList: true, characterData: true, subtree: true });
  });
  await page.getByRole("button", { name: "Copy" }).click();
  await expect(facts(page)).toContainText("Copied 1,000,000 cells");
  const { longestMs, shown } = await page.evaluate(() => {
    const { frames, shown } = globalThis as unknown as {
      frames: { longestMs: number };
      shown: string[];
    };
    return { ...frames, shown };
  });
  const percents = shown.flatMap((text) => /Copying… (\d+) %/.exec(text)?.[1] ?? []).map(Number);
  expect(percents.length).toBeGreaterThan(1);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
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
  await stage.show(LINEITEM, { memory: "1MiB" });
  await page.evaluate(() => navigator.clipboard.writeText("before"));
  await cell(page, 0, 1).click();
  await page.keyboard.press("Control+a");
  await expect(facts(page)).toContainText("1,500,000 cells");
  // The first copied rows arrive, and the others only after Escape.
  const { opened, open } = gate();
  let numBlocks = 0;
  await page.route(/\/rows\?/, async (route) => {
    if (numBlocks++ > 0) await opened;
    await route.continue();
  });
  await page.keyboard.press("Control+c");
  await expect.poll(() => numBlocks).toBeGreaterThan(1);
  await expect(facts(page)).toContainText("Copying…");
  await page.keyboard.press("Escape");
  open();
  await expect(facts(page)).toContainText("Copying was cancelled");
  await expect.poll(() => selection(page)).toBe(`all 0-${ROWS} 0-5`);
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
