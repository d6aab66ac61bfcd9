import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ColonnadeViewer } from "colonnade";
import { cell, chooseTable, expect, goToRow, resultIds, SMALL_COMPLETE, test } from "./fixtures.js";
import { CuttingProxy, gate } from "./proxy.js";
import { Server } from "./server.js";

test("lists the demo tables with their rows", async ({ page, demo }) => {
  await page.goto(demo.origin);
  const tables = page.getByRole("navigation", { name: "Tables" }).getByRole("listitem");
  await expect(tables.filter({ hasText: "lineitem" })).toContainText("6,001,215 rows");
  await expect(tables.filter({ hasText: "flights" })).toContainText("3,000,000 rows");
  await expect(tables.filter({ hasText: "every_type" })).toBeVisible();
});

test("shows rows while the rest is still arriving, then the total", async ({ page, small }) => {
  const { opened, open } = gate();
  const proxy = await CuttingProxy.start(small.origin);
  await page.goto(proxy.origin);
  await expect(page.getByRole("link", { name: /^lineitem\b/ })).toBeVisible();
  // All of lineitem has 17 MB.
  proxy.cuts = [{ at: proxy.numBytes + 6_000_000, by: "hold", meanwhile: () => opened }];
  await chooseTable(page, "lineitem");
  await expect(cell(page, 0, 1)).toHaveText("1");
  await expect(page.getByRole("progressbar")).toBeVisible();
  await expect(page.getByRole("status")).toContainText(/^Streaming: [1-9]/);
  open();
  await expect(page.getByRole("status")).toContainText(SMALL_COMPLETE);
  await expect(page.getByRole("progressbar")).toBeHidden();
  await proxy.close();
});

test("Go to row reaches the last row", { tag: "@firefox" }, async ({ page, demo }) => {
  await page.goto(`${demo.origin}/?table=lineitem`);
  await expect(page.getByRole("status")).toContainText("Complete: 6,001,215 rows", {
    timeout: 90_000,
  });
  await goToRow(page, 6_001_215);
  // The last line of TPC-H's lineitem at scale 1.
  await expect(cell(page, 6_001_214, 1)).toHaveText("6000000");
  await expect(cell(page, 6_001_214, 4)).toHaveText("2");
  await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "6001216");
});

test("Cancel stops the server's work and keeps the rows", async ({ page, demo }) => {
  const ids = resultIds(page);
  await page.goto(demo.origin);
  await chooseTable(page, "lineitem");
  await expect(cell(page, 0, 1)).toHaveText("1");
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("status")).toContainText(/cancelled/i);
  await expect(cell(page, 0, 1)).toHaveText("1");
  expect(ids.size).toBeGreaterThan(0);
  await expect.poll(() => demo.running(ids)).toEqual([]);
});

test("a server that is killed during a stream: the rows stay, and the status says that it resumes", async ({
  page,
}) => {
  const server = await Server.start();
  try {
    await page.goto(server.origin);
    await chooseTable(page, "lineitem");
    await expect(cell(page, 0, 1)).toHaveText("1");
    await server.kill();
    await expect(page.getByRole("status")).toHaveText(
      /^Connection lost at row [\d,]+\. Resuming…$/,
    );
    await expect(page.getByRole("alert")).toBeHidden();
    await expect(cell(page, 0, 1)).toHaveText("1");
    await page.getByRole("button", { name: "Cancel" }).click();
    await expect(page.getByRole("status")).toContainText("Cancelled");
  } finally {
    await server.kill();
  }
});

test("a source with an error after its first rows: they stay, and the alert names the line", async ({
  page,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "colonnade-"));
  const rows = Array.from({ length: 200_000 }, (_, row) => `${row}\n`).join("");
  await writeFile(join(folder, "late.csv"), `n\n${rows}1,2\n`);
  const server = await Server.start([join(folder, "late.csv")]);
  try {
    await page.goto(`${server.origin}/?table=late`);
    await expect(page.getByRole("alert")).toContainText("line 200002");
    await expect(cell(page, 0, 1)).toHaveText("0");
  } finally {
    await server.kill();
    await rm(folder, { recursive: true });
  }
});

test("a field that none of the first rows has: one alert says so, and its Retry shows the field", async ({
  page,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "colonnade-"));
  const row = `{"a":1,"pad":"${"x".repeat(200)}"}\n`;
  await writeFile(join(folder, "events.ndjson"), `${row.repeat(100_000)}{"a":2,"late":"here"}\n`);
  const server = await Server.start([join(folder, "events.ndjson")]);
  await page.goto(server.origin);
  await chooseTable(page, "events");
  const alert = page.getByRole("alert");
  await expect(alert).toContainText('events.ndjson, line 100001: the field "late"');
  // The list of tables is read again every 5 s.
  await page.getByRole("button", { name: "Refresh the list" }).click();
  await expect(page.getByText("has changed since")).toBeHidden();
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(page.getByRole("status")).toContainText("Complete: 100,001 rows");
  const columns = await page
    .locator("colonnade-viewer")
    .evaluate((viewer: ColonnadeViewer) => viewer.columns);
  expect(columns).toEqual(["a", "pad", "late"]);
  await server.kill();
  await rm(folder, { recursive: true });
});

test("leaving the page cancels the query", async ({ page, demo }) => {
  const ids = resultIds(page);
  await page.goto(demo.origin);
  await chooseTable(page, "lineitem");
  await expect(cell(page, 0, 1)).toHaveText("1");
  await page.goto("about:blank");
  expect(ids.size).toBeGreaterThan(0);
  await expect.poll(() => demo.running(ids)).toEqual([]);
});
