import { readFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import { expectAccessible } from "./accessible.js";
import {
  test as base,
  chooseTable,
  chromiumOnly,
  expect,
  resultIds,
  SMALL_COMPLETE,
  SMALL_ROWS,
} from "./fixtures.js";
import type { Server } from "./server.js";

const isFull = process.env.COLONNADE_FULL !== undefined;

/** Tests that fail if the page violates its content security policy. */
const test = base.extend<{ failOnViolations: undefined }>({
  failOnViolations: [
    async ({ page }, use) => {
      const refused: string[] = [];
      page.on("console", (message) => {
        if (/content security policy/i.test(message.text())) refused.push(message.text());
      });
      await use(undefined);
      expect(refused).toEqual([]);
    },
    { auto: true },
  ],
});

const chart = (page: Page, name: string | RegExp) => page.getByRole("application", { name });
const card = (page: Page, name: string | RegExp) => page.getByRole("region", { name });
const status = (page: Page) => page.getByRole("status");
const rowsText = (count: unknown) => `${Number(count).toLocaleString("en")} rows`;

async function openCharts(page: Page, server: Server, table: string): Promise<void> {
  await page.goto(server.origin);
  await chooseTable(page, table);
  await page.getByRole("button", { name: "Chart", exact: true }).click();
}

function addressOf(server: Server, table: string, charts: unknown): string {
  return `${server.origin}/?${new URLSearchParams({ table, chart: JSON.stringify(charts) })}`;
}

/** The cells of a chart's table of values, row by row. */
async function valuesOf(region: Locator): Promise<string[][]> {
  await region.getByRole("button", { name: "Table", exact: true }).click();
  await expect(region.getByRole("table")).toBeVisible();
  const rows = await region
    .getByRole("table")
    .locator("tbody tr")
    .evaluateAll((all) =>
      all.map((row) => [...row.children].map((each) => each.textContent ?? "")),
    );
  await region.getByRole("button", { name: "Table", exact: true }).click();
  return rows.map((row) => row.map((text) => text.replaceAll(",", "")));
}

/** Drags over a chart; `from` and `to` are fractions of its width. */
async function drag(page: Page, where: Locator, from: number, to: number): Promise<void> {
  await where.scrollIntoViewIfNeeded();
  const box = await where.boundingBox();
  if (box === null) throw new Error("the chart is not there");
  const y = box.y + box.height * 0.4;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 3 });
  await page.mouse.move(box.x + box.width * to, y, { steps: 3 });
  await page.mouse.up();
}

test("charts are suggested, and their values equal SQL results", async ({ page, small }) => {
  await openCharts(page, small, "flights");
  await expect(chart(page, "Mean of delay by date")).toBeVisible();
  const line = await valuesOf(card(page, "Mean of delay by date"));
  const weeks = await small.answer(
    "select count(*) from (select date_bin(interval '7 days', date, timestamp '2001-01-01') w, " +
      "avg(delay) from flights group by 1)",
  );
  expect(line.length).toBe(Number(weeks[0]?.[0]));
  const [first] = await small.answer(
    "select avg(delay), count(*) from flights where date >= '2001-01-01' and date < '2001-01-08'",
  );
  expect(line[0]).toEqual(["week of 2001-01-01", String(first?.[0]), String(first?.[1])]);
  await expect(chart(page, "Rows by origin")).toBeVisible();
  const bars = await valuesOf(card(page, "Rows by origin"));
  const top = await small.answer(
    "select origin, count(*) from flights group by 1 order by 2 desc, 1 limit 12",
  );
  expect(bars.slice(0, 12)).toEqual(top.map(([origin, n]) => [String(origin), String(n)]));
  const others = SMALL_ROWS - top.reduce((sum, [, n]) => sum + Number(n), 0);
  expect(bars[12]).toEqual(["others", String(others)]);
});

test("the first chart is by a column with few values", async ({ page, small }) => {
  await openCharts(page, small, "lineitem");
  const region = card(page, "Rows by l_linenumber");
  await expect(chart(page, "Rows by l_linenumber")).toBeVisible();
  await expect(page.getByRole("region").getByRole("application").first()).toHaveAccessibleName(
    "Rows by l_linenumber",
  );
  expect(await valuesOf(region)).toHaveLength(7);
});

test("charts of decimals, dates and texts equal SQL results, for every kind", async ({
  page,
  small,
}) => {
  const charts = [
    ["line", "l_shipdate", "l_extendedprice", "sum", "l_returnflag"],
    ["histogram", "l_discount"],
    ["scatter", "l_discount", "l_quantity"],
    ["box", "l_shipmode", "l_extendedprice"],
  ];
  await page.goto(addressOf(small, "lineitem", charts));
  await expect(chart(page, "Sum of l_extendedprice by l_shipdate, by l_returnflag")).toBeVisible();
  const line = await valuesOf(card(page, /^Sum of l_extendedprice/));
  const months = await small.answer(
    "select cast(date_trunc('month', l_shipdate) as varchar), l_returnflag, " +
      "cast(sum(l_extendedprice) as varchar), count(*) from lineitem group by 1, 2",
  );
  const byKey = (rows: unknown[][]) =>
    rows.map(([month, ...rest]) => [String(month).slice(0, 7), ...rest].join(" ")).sort();
  expect(byKey(line)).toEqual(byKey(months));

  await expect(chart(page, "Rows by l_discount")).toBeVisible();
  const bins = await valuesOf(card(page, "Rows by l_discount"));
  const discounts = await small.answer(
    "select l_discount, count(*) from lineitem group by 1 order by 1",
  );
  // Bins are narrower than a cent, so each value has its own bin, however doubles round.
  expect(bins.map(([, n]) => n)).toEqual(discounts.map(([, n]) => String(n)));

  await expect(chart(page, "l_quantity against l_discount")).toBeVisible();
  await expect(card(page, "l_quantity against l_discount")).toContainText(
    "Too many rows for points",
  );
  const fields = await valuesOf(card(page, "l_quantity against l_discount"));
  expect(fields.reduce((sum, [, , n]) => sum + Number(n), 0)).toBe(SMALL_ROWS);

  await expect(chart(page, "l_extendedprice by l_shipmode")).toBeVisible();
  const boxes = await valuesOf(card(page, "l_extendedprice by l_shipmode"));
  const quartiles = await small.answer(
    "select l_shipmode, cast(min(l_extendedprice) as varchar), " +
      "cast(median(l_extendedprice) as double), cast(max(l_extendedprice) as varchar), count(*) " +
      "from lineitem group by 1 order by 5 desc",
  );
  expect(boxes.map(([name, least, , median, , most, n]) => [name, least, median, most, n])).toEqual(
    quartiles.map((row) => row.map(String)),
  );
});

test("a brush filters the table and the other charts, and can be cleared in both", async ({
  page,
  small,
}) => {
  await openCharts(page, small, "flights");
  const line = chart(page, "Mean of delay by date");
  const bars = chart(page, "Rows by origin");
  await expect(line).toBeVisible();
  await expect(bars).toBeVisible();
  await expect(status(page)).toContainText(SMALL_COMPLETE);
  await drag(page, line, 0.3, 0.5);
  await expect(page.getByRole("button", { name: "Clear selection" })).toBeVisible();
  const brushed = () =>
    JSON.parse(new URL(page.url()).searchParams.get("chart") ?? "[]")[0]?.[5]?.x as
      | [string, string]
      | undefined;
  // The page filters while the mouse still moves, so the brush may change once more.
  let where = "";
  await expect(async () => {
    const [from, to] = brushed() ?? [];
    where = `date >= '${from}' and date < '${to}'`;
    const [[count]] = (await small.answer(`select count(*) from flights where ${where}`)) as [
      [bigint],
    ];
    expect(Number(count)).toBeGreaterThan(1000);
    await expect(status(page)).toContainText(rowsText(count), { timeout: 5000 });
    const top = await small.answer(
      `select count(*) from flights where ${where} and origin = 'ORD'`,
    );
    const [first] = await valuesOf(card(page, "Rows by origin"));
    expect(first).toEqual(["ORD", String(top[0]?.[0])]);
  }).toPass();
  // The brushed chart itself still shows all weeks.
  expect((await valuesOf(card(page, "Mean of delay by date"))).length).toBe(26);

  // A category of the second chart narrows further.
  await bars.click({ position: { x: 60, y: 16 } });
  const both = await small.answer(`select count(*) from flights where ${where} and origin = 'ORD'`);
  await expect(status(page)).toContainText(rowsText(both[0]?.[0]));

  // A brush that is removed from the table's filter is also removed from its chart.
  await line.focus();
  await line.press("Escape");
  const ord = await small.answer("select count(*) from flights where origin = 'ORD'");
  await expect(status(page)).toContainText(rowsText(ord[0]?.[0]));
  await page.locator("colonnade-viewer").evaluate((viewer) => {
    (viewer as unknown as { filter: null }).filter = null;
  });
  await expect(page.getByRole("button", { name: "Clear selection" })).toHaveCount(0);
  await expect(status(page)).toContainText(rowsText(SMALL_ROWS));
});

test("the table's own filter applies to charts, and stays when a brush is cleared", async ({
  page,
  small,
}) => {
  await openCharts(page, small, "flights");
  await expect(chart(page, "Rows by origin")).toBeVisible();
  await page.locator("colonnade-viewer").evaluate((viewer) => {
    (viewer as unknown as { filter: object }).filter = {
      and: [
        { op: "ge", column: "delay", value: "60" },
        { op: "ne", column: "origin", value: "ORD" },
      ],
    };
  });
  const top = await small.answer(
    "select origin, count(*) from flights where delay >= 60 and origin <> 'ORD' " +
      "group by 1 order by 2 desc, 1 limit 1",
  );
  await expect
    .poll(async () => (await valuesOf(card(page, "Rows by origin")))[0])
    .toEqual(top[0]?.map(String));
  const bars = chart(page, "Rows by origin");
  await bars.focus();
  await bars.press("ArrowDown");
  await bars.press("Enter");
  await expect(status(page)).toContainText(rowsText(top[0]?.[1]));
  await bars.press("Escape");
  const all = await small.answer(
    "select count(*) from flights where delay >= 60 and origin <> 'ORD'",
  );
  await expect(status(page)).toContainText(rowsText(all[0]?.[0]));
});

test("a search in the filter cannot be charted, and the chart says so", async ({ page, small }) => {
  const address = addressOf(small, "flights", [["bar", "origin", 0, "count"]]);
  const filter = JSON.stringify({ op: "matches", value: "hnl" });
  await page.goto(`${address}&${new URLSearchParams({ filter })}`);
  await expect(page.getByText("A search cannot be charted")).toBeVisible();
  const [[numRows] = []] = await small.answer(
    "select count(*) from flights where origin = 'HNL' or destination = 'HNL'",
  );
  await expect(status(page)).toContainText(rowsText(numRows));
  await page.getByRole("button", { name: "Remove filter: any column contains “hnl”" }).click();
  await expect(chart(page, "Rows by origin")).toBeVisible();
});

test("the keyboard moves between values, and selects, applies and clears a range", async ({
  page,
  small,
}) => {
  await page.goto(addressOf(small, "flights", [["line", "date", 0, "count"]]));
  const line = chart(page, "Rows by date");
  await expect(line).toBeVisible();
  await expect(status(page)).toContainText(SMALL_COMPLETE);
  const weeks = await small.answer(
    "select count(*) from flights where date < '2001-01-22' group by date_trunc('week', date) " +
      "order by date_trunc('week', date)",
  );
  const [first = 0, second = 0, third = 0] = weeks.map(([n]) => Number(n));
  await line.focus();
  await line.press("ArrowRight");
  const live = card(page, "Rows by date").locator("[aria-live=polite]");
  await expect(live).toContainText(`week of 2001-01-01: ${first.toLocaleString("en")}`);
  await line.press("ArrowRight");
  await expect(live).toContainText(`week of 2001-01-08: ${second.toLocaleString("en")}`);
  await line.press("Shift+ArrowRight");
  await expect(live).toContainText("Selected");
  await line.press("Enter");
  await expect(status(page)).toContainText(rowsText(second + third));
  await line.press("Escape");
  await expect(status(page)).toContainText(rowsText(SMALL_ROWS));
});

test(
  "a chart is saved as a PNG file and as a valid SVG file",
  chromiumOnly("Firefox's driver does not report downloads of blobs"),
  async ({ page, small }) => {
    await page.goto(addressOf(small, "flights", [["line", "date", "delay", "mean", "origin"]]));
    await expect(chart(page, "Mean of delay by date, by origin")).toBeVisible();
    const save = async (name: string) => {
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name, exact: true }).click();
      const file = await download;
      return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
    };
    const png = await save("PNG");
    expect(png.name).toBe("flights-Mean-of-delay-by-date-by-origin.png");
    expect([...png.bytes.subarray(0, 8)]).toEqual([137, 80, 78, 71, 13, 10, 26, 10]);
    expect(png.bytes.readUInt32BE(16)).toBe(1440);
    const svg = await save("SVG");
    expect(svg.name).toBe("flights-Mean-of-delay-by-date-by-origin.svg");
    const parsed = await page.evaluate((text) => {
      const document = new DOMParser().parseFromString(text, "image/svg+xml");
      return {
        root: document.documentElement.nodeName,
        errors: document.querySelectorAll("parsererror").length,
        images: document.querySelectorAll("image, foreignObject").length,
        paths: document.querySelectorAll("path").length,
        texts: [...document.querySelectorAll("text")].map(({ textContent }) => textContent),
      };
    }, svg.bytes.toString());
    expect(parsed).toMatchObject({ root: "svg", errors: 0, images: 0 });
    expect(parsed.paths).toBeGreaterThan(10);
    expect(parsed.texts).toContain("Mean of delay by date, by origin");
    expect(parsed.texts).toContain("ORD");
  },
);

test("charts and brushes are restored from the address", async ({ page, small }) => {
  const charts = [
    ["histogram", "distance"],
    ["bar", "origin", 0, "count", 0, { values: ["ORD", "LAX"] }],
  ];
  await page.goto(addressOf(small, "flights", charts));
  const [[count]] = (await small.answer(
    "select count(*) from flights where origin in ('ORD', 'LAX')",
  )) as [[bigint]];
  await expect(status(page)).toContainText(rowsText(count));
  await expect(chart(page, "Rows by distance")).toBeVisible();
  await page.getByRole("combobox", { name: "Chart" }).first().selectOption("Area");
  await expect(chart(page, "Rows by distance")).toBeVisible();
  await expect.poll(() => new URL(page.url()).searchParams.get("chart")).toContain("area");
  await page.reload();
  await expect(page.getByRole("combobox", { name: "Chart" }).first()).toHaveValue("area");
  await expect(status(page)).toContainText(rowsText(count));
});

test("charts of a statement with odd names, and of a statement without rows", async ({
  page,
  small,
}) => {
  const sql = `select delay as "odd ""name""", origin as "it's" from flights where delay > 1000; -- few`;
  const state = JSON.stringify([["bar", "it's", 'odd "name"', "max"]]);
  await page.goto(`${small.origin}/?${new URLSearchParams({ sql, chart: state })}`);
  const title = `Max of odd "name" by it's`;
  await expect(chart(page, title)).toBeVisible();
  const [first] = await small.answer(
    "select origin, max(delay), count(*) from flights where delay > 1000 group by 1 order by 3 desc, 1",
  );
  expect((await valuesOf(card(page, title)))[0]).toEqual(first?.map(String));
  const none = "select delay, origin from flights where false";
  await page.goto(`${small.origin}/?${new URLSearchParams({ sql: none, chart: "" })}`);
  await expect(page.getByText("These columns have no values to show.").first()).toBeVisible();
});

test("the controls show what is drawn, for every change of the kind", async ({ page, small }) => {
  await page.goto(addressOf(small, "flights", [["line", "date", "mean", "delay"]]));
  const one = page.locator("chart-card").getByRole("region");
  const kinds = ["box", "scatter", "histogram", "bar", "scatter", "line", "box", "area"];
  for (const kind of kinds) {
    await one.getByRole("combobox", { name: "Chart" }).selectOption(kind);
    const drawn = (): (string | number)[] =>
      JSON.parse(new URL(page.url()).searchParams.get("chart") ?? "[]")[0];
    await expect.poll(() => drawn()[0]).toBe(kind);
    const columns = drawn()
      .slice(0, 3)
      .filter((part) => typeof part === "string");
    const shown = await one
      .getByRole("combobox")
      .evaluateAll((all) => all.map((each) => (each as HTMLSelectElement).value));
    expect(shown).toEqual(expect.arrayContaining(columns));
  }
});

test("every suitable column can be charted, or an alert says why not", async ({ page, small }) => {
  await page.goto(addressOf(small, "every_type", [["histogram", "int64"]]));
  await expect(chart(page, "Rows by int64")).toBeVisible();
  const x = page.getByRole("combobox", { name: "X" });
  const names = await x.locator("option").allTextContents();
  expect(names).toContain("timestamp Paris");
  expect(names).not.toContain("binary");
  const failed: string[] = [];
  // A quarter of the columns, unless all tests run.
  for (const name of names.filter((_, index) => isFull || index % 4 === 0)) {
    await x.selectOption(name);
    const region = card(page, `Rows by ${name}`);
    await expect(region).toHaveAttribute("aria-busy", "false");
    const alert = region.getByRole("alert");
    if ((await alert.count()) > 0) failed.push(`${name}: ${await alert.textContent()}`);
  }
  // Times outside the calendar's range cannot be shown on an axis.
  expect(failed.filter((text) => !text.includes("calendar's range"))).toEqual([]);
});

test("cancelling a chart or closing the charts cancels their queries at the server", async ({
  page,
  demo,
}) => {
  const ids = resultIds(page);
  const sql = "select a.l_tax from lineitem a join lineitem b on a.l_suppkey = b.l_suppkey";
  const charts = JSON.stringify([["histogram", "l_tax"]]);
  await page.goto(`${demo.origin}/?${new URLSearchParams({ sql, chart: charts })}`);
  const region = card(page, "Rows by l_tax");
  await expect(region.getByText("Loading…")).toBeVisible();
  // The table's own result, and the chart's.
  const running = () => demo.running(ids);
  await expect.poll(async () => (await running()).length).toBe(2);
  await region.getByRole("button", { name: "Cancel" }).click();
  await expect(region.getByText("Cancelled.")).toBeVisible();
  await expect.poll(async () => (await running()).length).toBe(1);
  await region.getByRole("button", { name: "Load again" }).click();
  await expect(region.getByText("Loading…")).toBeVisible();
  await expect.poll(async () => (await running()).length).toBe(2);
  await page.getByRole("button", { name: "Close charts" }).click();
  await expect.poll(async () => (await running()).length).toBe(1);
});

test("charts, their tables and errors are accessible", async ({ page, small }) => {
  await openCharts(page, small, "flights");
  await expect(chart(page, "Mean of delay by date")).toBeVisible();
  await expect(chart(page, "Rows by origin")).toBeVisible();
  await expectAccessible(page);
  await valuesOf(card(page, "Rows by origin"));
  await card(page, "Rows by origin").getByRole("button", { name: "Table" }).click();
  await drag(page, chart(page, "Mean of delay by date"), 0.3, 0.5);
  await expect(page.getByRole("button", { name: "Clear selection" })).toBeVisible();
  await expectAccessible(page);
});
