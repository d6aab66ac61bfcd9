import type { Locator, Page } from "@playwright/test";
import { expectGrid } from "./grid-contract.js";
import { cell, chromiumOnly, expect, test, viewer } from "./viewer.js";

// The viewer's computed styles and layout under different page, system and screen settings.

const FLIGHTS = "/v1/tables/flights/rows?limit=100000";
const NAMES = `select arrow_cast(column1, 'Utf8') as name, column2 as n, column3 as latin from (values
  ('שלום, עולם!', 1, 'plain text.'), ('مرحبا بالعالم (1)', 22, 'plain text.'))`;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

async function boxOf(locator: Locator): Promise<Box> {
  const box = await locator.boundingBox();
  if (box === null) throw new Error(`${locator} is not drawn`);
  return box;
}

/** The computed value of a CSS property. */
function styleOf(locator: Locator, property: string): Promise<string> {
  return locator.evaluate(
    (element, name) => getComputedStyle(element).getPropertyValue(name),
    property,
  );
}

/** The boxes of all controls with their names; a checkbox's box includes its label. */
function targets(page: Page): Promise<({ name: string } & Box)[]> {
  return viewer(page).evaluate((element) =>
    [...(element.shadowRoot?.querySelectorAll<HTMLElement>("button, input, select, .handle") ?? [])]
      .filter((each) => each.checkVisibility())
      .map((each) => {
        const { x, y, width, height } = (each.closest("label") ?? each).getBoundingClientRect();
        const name = each.getAttribute("aria-label") ?? each.textContent?.trim() ?? "";
        return { name: `${each.className} ${name}`.trim(), x, y, width, height };
      }),
  );
}

/** Expects that all controls are large enough and, except for header menus, inside the viewer. */
async function expectReachable(page: Page, minPx = 24): Promise<void> {
  const { x, width } = await boxOf(viewer(page));
  for (const target of await targets(page)) {
    expect(Math.min(target.width, target.height), target.name).toBeGreaterThanOrEqual(minPx);
    if (target.name.startsWith("menu")) continue;
    expect(target.x, target.name).toBeGreaterThanOrEqual(x);
    expect(target.x + target.width, target.name).toBeLessThanOrEqual(x + width + 0.5);
  }
}

/** The WCAG contrast of two computed colours. */
function contrast(one: string, other: string): number {
  const luminance = (colour: string) => {
    const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

test.describe("right to left", () => {
  test.beforeEach(async ({ page, stage, server }) => {
    await stage.show(FLIGHTS);
    await page.evaluate(
      ({ origin, sql }) => {
        document.documentElement.dir = "rtl";
        const source = new Request(`${origin}/v1/query`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ sql }),
        });
        Object.assign(document.querySelector("colonnade-viewer") as object, { source });
      },
      { origin: server.origin, sql: NAMES },
    );
    await expect(cell(page, 0, 1)).toHaveText("שלום, עולם!");
  });

  test("the grid stays left to right, and the toolbar and status are mirrored", async ({
    page,
  }) => {
    await expect(page.getByRole("grid")).toHaveCSS("direction", "ltr");
    const [first, second] = [await boxOf(cell(page, 0, 1)), await boxOf(cell(page, 0, 2))];
    expect(second.x).toBeGreaterThan(first.x);
    const header = await boxOf(page.getByRole("columnheader", { name: "name" }));
    expect(header.x).toBe(first.x);
    const columns = await boxOf(page.getByRole("button", { name: "Columns" }));
    const find = await boxOf(page.getByRole("button", { name: "Find" }));
    const line = await boxOf(viewer(page).locator("[part=status]"));
    expect(find.x).toBeLessThan(columns.x);
    expect(columns.x).toBeLessThan(line.x);
    const dot = await boxOf(viewer(page).locator(".dot"));
    const count = await boxOf(viewer(page).locator(".count"));
    expect(dot.x).toBeLessThan(count.x);
    await expectReachable(page);
    await expectGrid(page);
  });

  test("texts have their own direction, and numbers are aligned at their last digit", async ({
    page,
  }) => {
    const textBox = (row: number, column: number) =>
      cell(page, row, column).evaluate((element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        const text = range.getBoundingClientRect();
        const box = element.getBoundingClientRect();
        return { left: text.left - box.left, right: box.right - text.right };
      });
    for (const row of [0, 1]) {
      expect((await textBox(row, 1)).right).toBeLessThan(13);
      expect((await textBox(row, 2)).right).toBeLessThan(13);
      expect((await textBox(row, 3)).left).toBeLessThan(13);
    }
    // The exclamation mark at the end of a Hebrew sentence is at its left.
    const markX = await cell(page, 0, 1).evaluate((element) => {
      const text = [...element.childNodes].find((node) => node.nodeType === Node.TEXT_NODE) as Text;
      const range = document.createRange();
      range.setStart(text, text.data.length - 1);
      range.setEnd(text, text.data.length);
      const first = document.createRange();
      first.setStart(text, 0);
      first.setEnd(text, 1);
      return range.getBoundingClientRect().x - first.getBoundingClientRect().x;
    });
    expect(markX).toBeLessThan(0);
  });

  test("arrow keys move in their direction, and the menu opens inside the window", async ({
    page,
  }) => {
    await cell(page, 0, 1).click();
    await page.keyboard.press("ArrowRight");
    await expect(cell(page, 0, 2)).toBeFocused();
    await page.keyboard.press("End");
    await expect(cell(page, 0, 3)).toBeFocused();
    await page.keyboard.press("ArrowLeft");
    await expect(cell(page, 0, 2)).toBeFocused();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Alt+ArrowDown");
    const menu = await boxOf(page.getByRole("dialog", { name: "Column name" }));
    expect(menu.x).toBeGreaterThanOrEqual(0);
    const left = await boxOf(page.getByRole("button", { name: "← Move left" }));
    const right = await boxOf(page.getByRole("button", { name: "Move right →" }));
    expect(left.x).toBeLessThan(right.x);
  });

  test("columns scroll horizontally as in left-to-right pages", async ({ page, stage }) => {
    await stage.show("/v1/tables/every_type/rows");
    await page.evaluate(() => {
      document.documentElement.dir = "rtl";
    });
    const count = Number(await page.getByRole("grid").getAttribute("aria-colcount"));
    await cell(page, 0, 1).click();
    await page.keyboard.press("End");
    await expect(cell(page, 0, count)).toBeFocused();
    await expect(cell(page, 0, count)).toBeInViewport();
    expect(await page.getByRole("grid").evaluate((grid) => grid.scrollLeft)).toBeGreaterThan(0);
    await cell(page, 0, count).hover();
    await page.mouse.wheel(-100_000, 0);
    await expect(cell(page, 0, 1)).toBeInViewport();
  });
});

for (const colorScheme of ["light", "dark"] as const) {
  test(
    `more contrast, ${colorScheme}: lines and minor texts have a high contrast`,
    chromiumOnly("Firefox's driver cannot emulate media"),
    async ({ page, stage }) => {
      await page.emulateMedia({ colorScheme, contrast: "more" });
      await stage.show(FLIGHTS);
      const background = await styleOf(viewer(page), "background-color");
      const header = page.getByRole("columnheader").first();
      const headerBackground = await styleOf(header, "background-color");
      const text = await styleOf(cell(page, 0, 1), "color");
      expect(contrast(text, background)).toBeGreaterThan(15);
      const type = await styleOf(header.locator(".type"), "color");
      expect(contrast(type, headerBackground)).toBeGreaterThan(7);
      const line = await styleOf(cell(page, 0, 1), "border-bottom-color");
      expect(contrast(line, background)).toBeGreaterThan(2);
      const border = await styleOf(page.getByRole("button", { name: "Find" }), "border-top-color");
      expect(contrast(border, background)).toBeGreaterThan(4.5);
      await cell(page, 1, 1).click();
      const selected = await styleOf(cell(page, 1, 1), "background-color");
      expect(contrast(text, selected)).toBeGreaterThan(7);
    },
  );

  test(`${colorScheme}: texts have WCAG's contrast, also in selections and matches`, async ({
    page,
    stage,
  }) => {
    await page.emulateMedia({ colorScheme });
    await stage.show("/v1/tables/every_type/rows");
    const onBackground = ["--_text", "--_muted", "--_accent", "--_danger", "--_good", "--_warn"];
    const ratios = await viewer(page).evaluate((element, names) => {
      const probe = document.createElement("div");
      element.shadowRoot?.append(probe);
      const colourOf = (name: string) => {
        probe.style.color = `var(${name})`;
        return getComputedStyle(probe).color;
      };
      const pairs: [string, string, string][] = [
        ...names.map((name): [string, string] => [name, "--_bg"]),
        ...names.map((name): [string, string] => [name, "--_surface"]),
        ["--_text", "--_selected"],
        ["--_text", "--_match"],
        ["--_text", "--_match-current"],
        ["--_text", "--_hover"],
        ["--_danger", "--_danger-surface"],
        ["--_muted", "--_danger-surface"],
      ].map(([on = "", under = ""]) => [`${on} on ${under}`, colourOf(on), colourOf(under)]);
      probe.remove();
      return pairs;
    }, onBackground);
    for (const [name, on, under] of ratios) {
      expect(contrast(on, under), name).toBeGreaterThanOrEqual(4.5);
    }
  });
}

test(
  "forced colours: columns keep their widths, and focus and selection are visible",
  chromiumOnly("Firefox's driver cannot emulate media"),
  async ({ page, stage }) => {
    await stage.show(FLIGHTS);
    const widths = () =>
      page.getByRole("columnheader").evaluateAll((all) => all.map((each) => each.clientWidth));
    const before = await widths();
    await page.emulateMedia({ forcedColors: "active" });
    await stage.show(FLIGHTS);
    await expect.poll(widths).toEqual(before);
    await cell(page, 1, 1).click();
    await expect(cell(page, 1, 1)).toHaveCSS("outline-style", "solid");
    const selected = await styleOf(cell(page, 1, 1), "background-color");
    expect(selected).not.toBe(await styleOf(cell(page, 3, 1), "background-color"));
    await expectGrid(page);
  },
);

for (const [density, heightPx] of Object.entries({ compact: 24, normal: 30, comfortable: 38 })) {
  test(`density ${density}`, async ({ page, stage }) => {
    await stage.show(FLIGHTS, { density });
    const [first, second] = [await boxOf(cell(page, 0, 1)), await boxOf(cell(page, 1, 1))];
    expect([first.height, second.y - first.y]).toEqual([heightPx, heightPx]);
    const header = await boxOf(page.getByRole("columnheader").first());
    expect(first.y).toBe(header.y + header.height + 1);
  });
}

test("numbers are right-aligned with tabular figures", async ({ page, stage }) => {
  await stage.show(FLIGHTS);
  await expect(cell(page, 0, 2)).toHaveCSS("text-align", "right");
  await expect(cell(page, 0, 2)).toHaveCSS("font-variant-numeric", "tabular-nums");
  await expect(page.getByRole("columnheader", { name: "delay" })).toHaveCSS("text-align", "right");
});

for (const [name, viewport] of Object.entries({
  "zoomed to 200 % of 1280 × 800": { width: 640, height: 400 },
  "400 px wide": { width: 400, height: 700 },
  "320 px wide": { width: 320, height: 600 },
})) {
  test(`${name}: all controls are visible and do not overlap`, async ({
    browser,
    pages,
    server,
  }) => {
    const context = await browser.newContext({ viewport, deviceScaleFactor: 2 });
    const page = await context.newPage();
    const src = server.origin + FLIGHTS;
    await page.goto(`${pages.origin}/?${new URLSearchParams({ src })}`);
    await viewer(page).evaluate((element) => {
      element.style.height = "100vh";
      document.body.style.margin = "0";
    });
    await expect(page.getByRole("status")).toContainText("Complete: 100,000 rows");
    await expectReachable(page);
    const all = (await targets(page)).filter((target) => !target.name.startsWith("menu"));
    const line = await boxOf(viewer(page).locator("[part=status]"));
    const boxes = [...all, { name: "status", ...line }];
    for (const one of boxes) {
      for (const other of boxes) {
        const isApart =
          one === other ||
          one.x >= other.x + other.width ||
          other.x >= one.x + one.width ||
          one.y >= other.y + other.height ||
          other.y >= one.y + one.height;
        expect(isApart, `${one.name} beside ${other.name}`).toBe(true);
      }
    }
    const count = await boxOf(viewer(page).locator(".count"));
    expect(count.x + count.width).toBeLessThanOrEqual(line.x + line.width);
    await expect(cell(page, 5, 1)).toBeInViewport();

    await page.keyboard.press("Control+f");
    await cell(page, 0, 1).click();
    await page.keyboard.press("Control+f");
    await page.getByRole("button", { name: "Close find" }).waitFor();
    await expectReachable(page);
    await page.keyboard.press("Escape");

    // An alert takes at most half of the height.
    await viewer(page).evaluate((element) => {
      Object.assign(element, { filter: { op: "lt", column: "delay", value: "late ".repeat(200) } });
    });
    const alert = await boxOf(page.getByRole("alert"));
    expect(alert.height).toBeLessThanOrEqual(viewport.height / 2);
    await expect(page.getByRole("alert").getByRole("button", { name: "Dismiss" })).toBeVisible();
    await context.close();
  });
}

test("pinned columns that are wider than the screen do not block horizontal scrolling", async ({
  page,
  stage,
}) => {
  await stage.show("/v1/tables/lineitem/rows?limit=1000");
  await viewer(page).evaluate((element) => {
    const { columns } = element as unknown as { columns: string[] };
    Object.assign(element, { state: { columns: { pinned: columns.slice(0, 6) } } });
  });
  const pinned = () =>
    page.getByRole("columnheader").evaluateAll((all) => {
      const shown = all.filter((each) => each.checkVisibility());
      return shown.filter((each) => each.classList.contains("pinned")).length;
    });
  await expect.poll(pinned).toBe(6);
  await page.setViewportSize({ width: 360, height: 700 });
  await expect.poll(pinned).toBeLessThan(3);
  await cell(page, 0, 1).click();
  await page.keyboard.press("End");
  await expect(cell(page, 0, 16)).toBeInViewport({ ratio: 0.4 });
  await page.keyboard.press("ArrowLeft");
  await expect(cell(page, 0, 15)).toBeInViewport({ ratio: 0.9 });
  await page.setViewportSize({ width: 1280, height: 700 });
  await expect.poll(pinned).toBe(6);
});

test.describe("on a tablet", () => {
  test.use({ hasTouch: true, isMobile: true, viewport: { width: 1100, height: 800 } });

  test(
    "the menu buttons are beside the names, above the summaries",
    chromiumOnly("Firefox's driver cannot emulate a tablet"),
    async ({ page, stage }) => {
      await stage.show(FLIGHTS);
      await expect(page.getByRole("slider").first()).toBeVisible();
      for (const header of await page.getByRole("columnheader").all()) {
        const [name, menu] = await Promise.all(
          [".name", ".menu"].map((each) => boxOf(header.locator(each))),
        );
        if (name === undefined || menu === undefined) throw new Error("a header has no menu");
        const middle = menu.y + menu.height / 2;
        expect(Math.abs(middle - name.y - name.height)).toBeLessThan(5);
        await header.locator(".menu").tap();
        await expect(page.getByRole("dialog", { name: /^Column / })).toBeVisible();
        await page.keyboard.press("Escape");
      }
    },
  );
});

test(
  "touch: scroll, select, extend the selection, open the menu and sort",
  chromiumOnly("speaks the DevTools protocol"),
  async ({ browser, pages, server }) => {
    const context = await browser.newContext({
      viewport: { width: 400, height: 700 },
      hasTouch: true,
      isMobile: true,
    });
    const page = await context.newPage();
    const src = server.origin + FLIGHTS;
    await page.goto(`${pages.origin}/?${new URLSearchParams({ src })}`);
    await expect(page.getByRole("status")).toContainText("Complete: 100,000 rows");
    const cdp = await context.newCDPSession(page);
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", x = 0, y = 0) =>
      cdp.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: type === "touchEnd" ? [] : [{ x, y }],
      });
    const swipe = async (xDistance: number, yDistance: number) => {
      await touch("touchStart", 200, 300);
      for (let step = 1; step <= 20; step++) {
        await touch("touchMove", 200 + (step * xDistance) / 20, 300 + (step * yDistance) / 20);
      }
      await touch("touchEnd");
    };
    await swipe(0, -200);
    await expect(cell(page, 0, 1)).not.toBeInViewport();
    await expect(cell(page, 12, 1)).toBeInViewport();
    await swipe(0, 280);
    await expect(cell(page, 0, 1)).toBeInViewport();
    await swipe(-190, 0);
    await swipe(-190, 0);
    await expect(cell(page, 0, 5)).toBeInViewport();
    await swipe(190, 0);
    await swipe(190, 0);
    await swipe(190, 0);
    await expect(cell(page, 0, 1)).toBeInViewport();

    await cell(page, 2, 1).tap();
    await expect(cell(page, 2, 1)).toHaveAttribute("aria-selected", "true");
    const handle = viewer(page).locator(".handle");
    await expect(handle).toBeVisible();
    const from = await boxOf(handle);
    const to = await boxOf(cell(page, 5, 1));
    const x = from.x + from.width / 2;
    await touch("touchStart", x, from.y + from.height / 2);
    await touch("touchMove", x - 30, to.y);
    await touch("touchMove", x - 30, to.y + to.height / 2);
    await touch("touchEnd");
    await expect(cell(page, 5, 1)).toHaveAttribute("aria-selected", "true");
    await expect(cell(page, 4, 1)).toHaveAttribute("aria-selected", "true");
    await expectReachable(page);

    const header = page.getByRole("columnheader", { name: "date" });
    const menu = header.locator(".menu");
    expect((await boxOf(menu)).width).toBeGreaterThanOrEqual(24);
    await menu.tap();
    await expect(page.getByRole("dialog", { name: "Column date" })).toBeVisible();
    await expectReachable(page);
    await page.keyboard.press("Escape");
    await header.tap();
    await expect(header).toHaveAttribute("aria-sort", "ascending");
    await context.close();
  },
);
