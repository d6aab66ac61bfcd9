import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page, Response } from "@playwright/test";
import {
  Field,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
} from "apache-arrow";
import { expectAccessible } from "./accessible.js";
import { cell, chooseTable, expect, SMALL_COMPLETE, test } from "./fixtures.js";
import { Server } from "./server.js";

function listOf(page: Page) {
  return page.getByRole("navigation", { name: "Tables" });
}

/** Runs `work` with a server of a temporary folder, and removes both. */
async function withFolder(work: (folder: string, server: Server) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "colonnade-"));
  await writeFile(join(folder, "one.csv"), "n\n1\n");
  const server = await Server.start([folder]);
  try {
    await work(folder, server);
  } finally {
    await server.kill();
    await rm(folder, { recursive: true });
  }
}

test("the list of tables is polled, and the server answers 304 while it is unchanged", async ({
  page,
  demo,
}) => {
  const answers: number[] = [];
  page.on("response", (response) => {
    if (new URL(response.url()).pathname === "/v1/tables") answers.push(response.status());
  });
  await page.goto(demo.origin);
  await expect(listOf(page).getByRole("link", { name: /^flights\b/ })).toBeVisible();
  // The page polls by itself. A server that has just started may still find out more about its tables.
  await expect.poll(() => answers.at(-1)).toBe(304);
  expect(answers[0]).toBe(200);
  const numPolled = answers.length;
  await page.getByRole("button", { name: "Refresh the list" }).click();
  await expect.poll(() => answers.length).toBeGreaterThan(numPolled);
  expect(new Set(answers.slice(numPolled))).toEqual(new Set([304]));
});

test("a note says that a file has changed, and Reload shows its new rows", async ({ page }) => {
  await withFolder(async (folder, server) => {
    await page.goto(`${server.origin}/?table=one`);
    await expect(cell(page, 0, 1)).toHaveText("1");
    await writeFile(join(folder, "next"), "n,m\n2,3\n");
    await rename(join(folder, "next"), join(folder, "one.csv"));
    await page.getByRole("button", { name: "Refresh the list" }).click();
    await expect(page.getByText("one has changed since these rows were loaded.")).toBeVisible();
    await expect(cell(page, 0, 1)).toHaveText("1");
    await page.getByRole("button", { name: "Reload" }).click();
    await expect(cell(page, 0, 2)).toHaveText("3");
    await expect(page.getByText("has changed since")).toBeHidden();
  });
});

test("a table says which of its files it lacks, until they can be read", async ({ page }) => {
  await withFolder(async (folder, server) => {
    const whole = gzipSync("n\n7\n8\n");
    const put = async (name: string, bytes: Uint8Array) => {
      const path = join(folder, "parts", name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
    };
    await put("day=1/a.csv.gz", whole);
    await put("day=2/b.csv.gz", whole.subarray(0, -6));
    await page.goto(server.origin);
    const entry = listOf(page).getByRole("listitem").filter({ hasText: "parts" });
    await expect(entry).toContainText("1 file left out");
    await entry.getByRole("link", { name: "parts", exact: true }).click();
    const viewer = page.locator("colonnade-viewer");
    await expect(viewer.locator(".line")).toContainText("files left out: 1");
    await expect(viewer.locator(".line")).toContainText("2 rows");
    await page.goto(`${server.origin}/?table=parts&view=details`);
    const details = page.getByRole("main");
    await expect(details.getByRole("heading", { name: "1 file left out" })).toBeVisible();
    const file = details.getByRole("listitem").filter({ hasText: "day=2/b.csv.gz" });
    await expect(file).toContainText("its gzip data end too early");
    await expectAccessible(page);
    await put("day=2/b.csv.gz", whole);
    await expect(details.getByText("left out")).toBeHidden();
    await expect(entry).not.toContainText("left out");
  });
});

test("files of a folder that are not tables are listed with the reason", async ({ page }) => {
  await withFolder(async (folder, server) => {
    const notShown = listOf(page).getByRole("group").filter({ hasText: "Not shown" });
    await page.goto(server.origin);
    await expect(listOf(page).getByRole("link", { name: /^one\b/ })).toBeVisible();
    await expect(notShown).toBeHidden();
    await writeFile(join(folder, "sales.xlsx"), "PK\x03\x04");
    await page.getByRole("button", { name: "Refresh the list" }).click();
    await expect(notShown).toContainText("Not shown (1)");
    await expect(notShown.getByRole("listitem")).toBeHidden();
    await notShown.getByText("Not shown (1)").click();
    await expect(notShown.getByRole("listitem")).toContainText("sales.xlsx an Excel workbook");
    await expectAccessible(page);
  });
});

test("details of a table show column summaries, first rows and Parquet metadata", async ({
  page,
  small,
}) => {
  await page.goto(small.origin);
  await listOf(page).getByRole("button", { name: "Columns of lineitem" }).click();
  await listOf(page).getByRole("link", { name: "Details of lineitem" }).click();
  await expect(page).toHaveURL(`${small.origin}/?table=lineitem&view=details`);
  await expect(page.getByRole("tab", { name: "Details" })).toHaveAttribute("aria-selected", "true");
  const columns = page.getByRole("region", { name: "Columns", exact: true });
  const quantity = columns.getByRole("row", { name: /^l_quantity/ });
  await expect(quantity).toContainText("decimal128(15, 2)");
  await expect(quantity).toContainText("not null");
  // TPC-H: between 1 and 50.
  const titles = ["Min", "25 %", "Median", "75 %", "Max", "Mean"];
  await expect(columns.getByRole("columnheader").nth(4)).toHaveText("Distinct");
  for (const [index, title] of titles.entries()) {
    await expect(columns.getByRole("columnheader").nth(5 + index)).toHaveText(title);
  }
  const value = (title: string) => quantity.getByRole("cell").nth(4 + titles.indexOf(title));
  await expect(value("Min")).toHaveText("1.00");
  await expect(value("Median")).toHaveText(/^(?:≈ )?2[56]\.00$/);
  await expect(value("Max")).toHaveText("50.00");
  // The lengths of texts: TRUCK, RAIL, DELIVER IN PERSON…
  const instruct = columns.getByRole("row", { name: /^l_shipinstruct/ });
  await instruct.scrollIntoViewIfNeeded();
  await expect(instruct.getByRole("cell").nth(6)).toHaveText(/^(?:≈ )?1[67] characters$/);
  await expect(quantity.getByRole("img")).toHaveAccessibleName(/from 1\.00 to 50\.00/);
  await expect(quantity).toContainText("17.00 · 36.00");
  await expect(columns.getByRole("row", { name: /^l_returnflag/ })).toContainText(/N 5[01] %/);

  const { parquet } = (await (await fetch(`${small.origin}/v1/tables/lineitem`)).json()) as {
    parquet: { num_row_groups: number; columns: { compression: string[] }[] };
  };
  const rowGroups = new RegExp(`^${parquet.num_row_groups}, .* rows each$`);
  await expect(page.getByText(rowGroups)).toBeVisible();
  await page.getByText("Column storage").click();
  const stored = page.getByRole("region", { name: "Column storage" });
  await expect(stored.getByRole("row", { name: /^l_comment/ })).toContainText(
    parquet.columns[0]?.compression[0] ?? "?",
  );
  // The rows are shown after the details are closed.
  await page.getByRole("tab", { name: "Rows" }).click();
  await expect(cell(page, 0, 1)).toHaveText("1");
});

test("details are those of the filtered rows, or of all rows", async ({ page, small }) => {
  const filter = JSON.stringify({ op: "eq", column: "l_shipmode", value: "AIR" });
  const query = new URLSearchParams({ table: "lineitem", view: "details", filter });
  await page.goto(`${small.origin}/?${query}`);
  const columns = page.getByRole("region", { name: "Columns", exact: true });
  // A column is summarised once it is visible.
  const expectMode = async (text: string | RegExp) => {
    await mode.scrollIntoViewIfNeeded();
    await expect(mode).toContainText(text);
  };
  const mode = columns.getByRole("row", { name: /^l_shipmode/ });
  const [[count] = []] = await small.answer(
    "select count(*) from lineitem where l_shipmode = 'AIR'",
  );
  const rows = Number(count).toLocaleString("en-US");
  await expectMode("AIR 100 %");
  const heading = (text: string) => page.getByRole("heading", { name: text });
  await expect(heading(`Columns of the ${rows} filtered rows`)).toBeVisible();
  await page.getByRole("button", { name: "All rows" }).click();
  await expect(heading("Columns of all rows")).toBeVisible();
  await expectMode(/AIR 1\d %/);
  await page.getByRole("button", { name: "Only the filtered rows" }).click();
  await expectMode("AIR 100 %");
  // Without a filter, there is no choice.
  await page.goto(`${small.origin}/?table=lineitem&view=details`);
  await expectMode(/AIR 1\d %/);
  await expect(page.getByRole("heading", { name: "Columns", exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "All rows" })).toHaveCount(0);
});

test("details show the metadata of fields, and summaries of every type", async ({ page, demo }) => {
  await page.goto(`${demo.origin}/?table=every_type&view=details`);
  const columns = page.getByRole("region", { name: "Columns", exact: true });
  const last = columns.getByRole("row").last();
  await last.scrollIntoViewIfNeeded();
  // A column is summarised once it is visible.
  await expect(last.getByRole("cell")).toHaveCount(12);

  await withFolder(async (folder) => {
    const field = new Field("n", new Int32(), false, new Map([["unit", "furlong"]]));
    const data = makeData({ type: new Int32(), length: 2, data: Int32Array.of(1, 2) });
    const schema = new Schema([field]);
    const rows = makeData({ type: new Struct([field]), length: 2, children: [data] });
    const bytes = tableToIPC(new Table(new RecordBatch(schema, rows)), "file");
    await writeFile(join(folder, "fields.arrow"), bytes);
    const again = await Server.start([join(folder, "fields.arrow")]);
    try {
      await page.goto(`${again.origin}/?table=fields&view=details`);
      await expect(columns.getByRole("row", { name: /^n\b/ })).toContainText("unit furlong");
      await expect(columns.getByRole("row", { name: /^n\b/ })).toContainText("1 · 2");
    } finally {
      await again.kill();
    }
  });
});

test("an unknown table is an error that suggests a similar name", async ({ page, demo }) => {
  await page.goto(`${demo.origin}/?table=lineitm`);
  await expect(page.getByRole("alert")).toContainText("lineitem");
  await page.getByRole("tab", { name: "Details" }).click();
  await expect(page.getByText("There is no table “lineitm”")).toBeVisible();
});

test("the start page has links to a table and to an example statement", async ({ page, small }) => {
  await page.goto(small.origin);
  await expect(page.getByRole("heading", { name: "Open a table" })).toBeVisible();
  await page.getByRole("link", { name: /^Open flights/ }).click();
  await expect(page.getByRole("status")).toContainText(SMALL_COMPLETE);
  await page.goBack();
  // The first column of every_type with 2 to 50 distinct values.
  await page.getByRole("link", { name: /^SELECT bool, count.* FROM every_type/ }).click();
  await expect(page.getByRole("status")).toContainText("Complete: 3 rows");
  await expect(page.getByRole("tab", { name: "Query 1" })).toBeVisible();
});

// Compressed bytes of the page's own files.
test("the first load is small", async ({ page, demo }) => {
  const answers: Response[] = [];
  page.on("response", (response) => {
    if (!new URL(response.url()).pathname.startsWith("/v1/")) answers.push(response);
  });
  await page.goto(`${demo.origin}/?table=every_type`);
  await expect(page.getByRole("status")).toContainText("Complete");
  let [all, scripts] = [0, 0];
  for (const answer of answers) {
    const { responseBodySize } = await answer.request().sizes();
    all += responseBodySize;
    if (answer.url().endsWith(".js")) scripts += responseBodySize;
  }
  expect(answers.some((answer) => answer.url().endsWith(".wasm"))).toBe(true);
  expect(all).toBeLessThan(450_000);
  expect(scripts).toBeLessThan(100_000);
});

test("the list of tables is filtered by column names", async ({ page, small }) => {
  await page.goto(small.origin);
  await page.getByRole("searchbox", { name: "Filter tables" }).fill("l_comm");
  await expect(listOf(page).getByRole("listitem")).toHaveCount(1);
  await chooseTable(page, "lineitem");
  await expect(cell(page, 0, 1)).toHaveText("1");
});
