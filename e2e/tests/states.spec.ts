import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { elementAlone, expectAccessible } from "./accessible.js";
import { expectGrid } from "./grid-contract.js";
import { CuttingProxy, gate } from "./proxy.js";
import { demoFile, inCheckout, Server } from "./server.js";
import { cell, expect, goToRow, resultIds, test, viewer } from "./viewer.js";

// Every state of the viewer in a real page: its rows, its announcements and its actions.

const ROWS = 600_000;
const FLIGHTS = `/v1/tables/flights/rows?limit=${ROWS}`;
/** The number of bytes after which the stream is cut; all of it has about 27 MB. */
const PART_BYTES = 6_000_000;

const status = (page: Page) => page.getByRole("status");
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const progressBar = (page: Page) => page.getByRole("progressbar");

/** Opens the page with a viewer with these attributes, without waiting for rows. */
async function show(page: Page, origin: string, attributes: Record<string, string>): Promise<void> {
  await page.goto(`${origin}/?${new URLSearchParams(attributes)}`);
  await viewer(page).waitFor();
}

/** Sets the viewer's source to a Blob of bytes. */
async function give(page: Page, bytes: Buffer): Promise<void> {
  await viewer(page).evaluate((element, base64) => {
    const source = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    Object.assign(element, { source: new Blob([source]) });
  }, bytes.toString("base64"));
}

/** Starts to record the texts of the status line with their times. */
async function listen(page: Page): Promise<void> {
  await status(page).evaluate((element) => {
    const heard: { text: string; ms: number }[] = [];
    new MutationObserver(() => {
      heard.push({ text: element.textContent?.trim() ?? "", ms: performance.now() });
    }).observe(element, { childList: true, characterData: true, subtree: true });
    Object.assign(globalThis, { heard });
  });
}

function heard(page: Page): Promise<{ text: string; ms: number }[]> {
  return page.evaluate(() => (globalThis as unknown as { heard: [] }).heard);
}

test("nothing opened, connecting, and cancelled before the first row", async ({
  page,
  pages,
  server,
}) => {
  const { opened, open } = gate();
  const proxy = await CuttingProxy.start(server.origin);
  proxy.cuts = [{ at: 0, by: "reset", meanwhile: () => opened }];
  try {
    await show(page, pages.origin, {});
    await expect(page.getByText("No table is open.")).toBeVisible();
    await expect(status(page)).toHaveText("No table is open");
    await expectAccessible(page, elementAlone);

    await viewer(page).evaluate(
      (element, src) => element.setAttribute("src", src),
      proxy.origin + FLIGHTS,
    );
    await expect(status(page)).toHaveText("Connecting…");
    await expect(progressBar(page)).toHaveAccessibleName("Loading rows");
    await expect(page.getByText(/Waiting for the first rows… \d+ s/)).toBeVisible();
    await expectAccessible(page, elementAlone);

    await button(page, "Cancel").click();
    await expect(page.getByText("Cancelled before the first row.")).toBeVisible();
    await expect(status(page)).toHaveText("Cancelled");
    await expect(progressBar(page)).toBeHidden();
    await expectAccessible(page, elementAlone);

    open();
    await button(page, "Load again").click();
    await expect(status(page)).toContainText(`Complete: 600,000 rows`);
    await expect(button(page, "Load again")).toBeHidden();
    await expect(button(page, "Cancel")).toBeHidden();
  } finally {
    open();
    await proxy.close();
  }
});

test("streaming, interrupted, resuming and complete", async ({ page, pages }) => {
  const folder = mkdtempSync(join(tmpdir(), "colonnade-"));
  const serve = () =>
    Server.start([
      `flights=${demoFile("flights.parquet")}`,
      ...["--allow-origin", pages.origin, "--data-dir", folder],
    ]);
  let server = await serve();
  const { opened, open } = gate();
  const proxy = await CuttingProxy.start(server.origin);
  proxy.cuts = [
    {
      at: PART_BYTES,
      by: "reset",
      meanwhile: async () => {
        await opened;
        await server.kill();
      },
    },
  ];
  try {
    await show(page, pages.origin, { src: proxy.origin + FLIGHTS });
    await expect(cell(page, 0, 1)).toBeVisible();
    await expect(status(page)).toHaveText(
      /^Streaming: [1-9][\d,]* rows, [\d.]+ [kM]B, [\d.]+ [kMG]?B\/s, .*first row in/,
    );
    const line = viewer(page).locator("[part=status]");
    await expect(line).toContainText("Streaming");
    await expect(progressBar(page)).toBeVisible();
    await expect(button(page, "Cancel")).toBeVisible();
    await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "-1");
    await expect(page.getByRole("grid")).toHaveAttribute("aria-busy", "false");
    await expectGrid(page);
    await expectAccessible(page, elementAlone);

    await goToRow(page, ROWS);
    await expect(page.getByText("Row 600,000 has not arrived yet.").first()).toBeVisible();

    open();
    await expect(status(page)).toHaveText(/^Connection lost at row [\d,]+\. Resuming…$/);
    await expect(line).toContainText("Connection lost at row");
    await expect(progressBar(page)).toBeVisible();
    await expect(page.getByRole("alert")).toBeHidden();
    await expectGrid(page);
    await expectAccessible(page, elementAlone);

    server = await serve();
    proxy.target = server.origin;
    await expect(status(page)).toContainText("Complete: 600,000 rows");
    await expect(progressBar(page)).toBeHidden();
    await expect(cell(page, ROWS - 1, 1)).toBeVisible();
    await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", String(ROWS + 1));
    await expectGrid(page);
    await expectAccessible(page, elementAlone);
  } finally {
    open();
    await proxy.close();
    await server.kill();
    rmSync(folder, { recursive: true });
  }
});

test("a running stream is announced at most every three seconds", async ({
  page,
  pages,
  server,
}) => {
  const { opened, open } = gate();
  const proxy = await CuttingProxy.start(server.origin);
  proxy.cuts = [{ at: PART_BYTES, by: "hold", meanwhile: () => opened }];
  try {
    await show(page, pages.origin, {});
    await listen(page);
    await viewer(page).evaluate(
      (element, src) => element.setAttribute("src", src),
      proxy.origin + FLIGHTS,
    );
    const streaming = async () =>
      (await heard(page)).filter(({ text }) => text.startsWith("Streaming"));
    // The first rows are announced at once, and those that have arrived since then after a while.
    await expect.poll(async () => (await streaming()).length).toBeGreaterThan(1);
    open();
    await expect(status(page)).toContainText("Complete: 600,000 rows");
    const times = (await streaming()).map(({ ms }) => ms);
    times.slice(1).forEach((ms, index) => {
      expect(ms - (times[index] ?? 0)).toBeGreaterThan(2900);
    });
    const texts = (await heard(page)).map(({ text }) => text);
    expect(texts).not.toContainEqual(expect.stringContaining(": 0 rows"));
  } finally {
    open();
    await proxy.close();
  }
});

test("cancelled: rows stay, and they can be loaded again", async ({ page, pages, server }) => {
  const { opened, open } = gate();
  const proxy = await CuttingProxy.start(server.origin);
  proxy.cuts = [{ at: PART_BYTES, by: "reset", meanwhile: () => opened }];
  try {
    await show(page, pages.origin, { src: proxy.origin + FLIGHTS });
    await expect(cell(page, 0, 1)).toBeVisible();
    await button(page, "Cancel").click();
    await expect(status(page)).toHaveText(/^Cancelled: [1-9][\d,]* rows/);
    await expect(cell(page, 0, 1)).toBeVisible();
    await expect(progressBar(page)).toBeHidden();
    const rows = await page.getByRole("grid").getAttribute("aria-rowcount");
    expect(Number(rows)).toBeGreaterThan(1);
    await expectGrid(page);
    await expectAccessible(page, elementAlone);
    open();
    await button(page, "Load again").click();
    await expect(status(page)).toContainText("Complete: 600,000 rows");
  } finally {
    open();
    await proxy.close();
  }
});

test("failed: the alert says why, rows stay, and Retry loads them again", async ({
  page,
  pages,
  server,
}) => {
  const { opened, open } = gate();
  const proxy = await CuttingProxy.start(server.origin);
  const ids = resultIds(page);
  const forget = async () => {
    await opened;
    for (const id of ids) await fetch(`${server.origin}/v1/query/${id}`, { method: "DELETE" });
  };
  proxy.cuts = [{ at: PART_BYTES, by: "reset", meanwhile: forget }];
  try {
    await show(page, pages.origin, { src: proxy.origin + FLIGHTS });
    await expect(cell(page, 0, 1)).toBeVisible();
    open();
    const alert = page.getByRole("alert");
    await expect(alert).toContainText("was deleted");
    await expect(alert).toContainText(/[1-9][\d,]* rows arrived before and stay readable/);
    await expect(status(page)).toHaveText(/^Failed: [1-9][\d,]* rows/);
    await expect(cell(page, 0, 1)).toBeVisible();
    await expect(progressBar(page)).toBeHidden();
    await expectGrid(page);
    await expectAccessible(page, elementAlone);
    await button(page, "Copy details").click();
    await expect(button(page, "Copied")).toBeVisible();
    const details = await page.evaluate(() => navigator.clipboard.readText());
    expect(JSON.parse(details)).toMatchObject({ message: expect.stringContaining("was deleted") });
    await alert.getByRole("button", { name: "Retry" }).click();
    await expect(status(page)).toContainText("Complete: 600,000 rows");
    await expect(alert).toBeHidden();
  } finally {
    open();
    await proxy.close();
  }
});

test("failed before there was a table", async ({ page, pages, server }) => {
  await show(page, pages.origin, { src: `${server.origin}/v1/tables/flihgts/rows` });
  await expect(page.getByRole("alert")).toContainText('there is no table "flihgts"');
  await expect(page.getByRole("alert")).toContainText('"flights"');
  await expect(page.getByRole("alert").getByRole("button", { name: "Retry" })).toBeVisible();
  await expect(status(page)).toHaveText("Failed");
  await expectAccessible(page, elementAlone);
});

test("paused: the memory budget is full, and the user chooses", async ({ page, pages }) => {
  await show(page, pages.origin, { memory: "6kB" });
  await give(page, readFileSync(inCheckout("fixtures/numbered.arrows")));
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("The memory budget of 5.9 KiB is full.");
  await expect(status(page)).toContainText("Paused: the memory budget is full");
  await expect(button(page, "Continue with 11.7 KiB")).toBeVisible();
  await expect(button(page, "Keep these rows")).toBeVisible();
  await expectGrid(page);
  await expectAccessible(page, elementAlone);
  await button(page, "Keep these rows").click();
  await expect(status(page)).toContainText("Cancelled");
});

test("windowed: rows load while scrolling, without an announcement each time", async ({
  page,
  stage,
}) => {
  await stage.show("/v1/tables/lineitem/rows", { memory: "16MiB" });
  await expect(status(page)).toHaveText("Windowed: rows load as you scroll, 6,001,215 rows");
  await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "6001216");
  await expect(progressBar(page)).toBeHidden();
  await listen(page);
  for (const row of [1_000_000, 3_000_000, 6_001_215]) {
    await goToRow(page, row);
    await expect(cell(page, row - 1, 1)).toHaveText(/\d/);
  }
  expect(await heard(page)).toEqual([]);
  await expectGrid(page);
  await expectAccessible(page, elementAlone);
});

test("empty: a result without rows, and a filter without matching rows", async ({
  page,
  stage,
  pages,
  server,
}) => {
  await show(page, pages.origin, { src: `${server.origin}/v1/tables/flights/rows?limit=0` });
  await expect(page.getByText("The result is empty.")).toBeVisible();
  await expect(status(page)).toContainText("Complete: 0 rows");
  await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "1");
  await expectGrid(page);
  await expectAccessible(page, elementAlone);

  await stage.show("/v1/tables/flights/rows?limit=1000");
  await viewer(page).evaluate((element) => {
    Object.assign(element, { filter: { op: "eq", column: "origin", value: "nowhere" } });
  });
  await expect(page.getByText("No rows match the filter.")).toBeVisible();
  await expectGrid(page);
  await expectAccessible(page, elementAlone);
  await button(page, "Remove all").click();
  await expect(cell(page, 0, 1)).toBeVisible();
});

test("zero columns", async ({ page, pages }) => {
  // The stream that pyarrow writes for a table without columns: a schema and the end-of-stream marker.
  const base64 =
    "/////zAAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAAAAAD/////AAAAAA==";
  await show(page, pages.origin, {});
  await give(page, Buffer.from(base64, "base64"));
  await expect(page.getByText("This table has no columns")).toBeVisible();
  await expect(status(page)).toContainText("Complete: 0 rows");
  await expect(page.getByRole("grid")).toBeHidden();
  await expect(button(page, "Columns")).toBeHidden();
  await expectAccessible(page, elementAlone);
});

test("Go to row explains an invalid number, and goes to the last row for a number that is too large", async ({
  page,
  stage,
}) => {
  await stage.show("/v1/tables/flights/rows?limit=1000");
  const input = page.getByLabel("Go to row");
  const notice = viewer(page).locator(".toolbar [aria-live]");
  await input.fill("twelve");
  await input.press("Enter");
  await expect(notice).toHaveText("“twelve” is not a row number. Type a whole number: 1 to 1,000.");
  await expect(input).toHaveAttribute("aria-invalid", "true");
  await expect(input).toBeFocused();
  await expectAccessible(page, elementAlone);
  await input.fill("5000");
  await expect(input).not.toHaveAttribute("aria-invalid", "true");
  await input.press("Enter");
  await expect(notice).toContainText("Row 5,000 does not exist: there are 1,000 rows.");
  await expect(cell(page, 999, 1)).toBeFocused();
});

test("a windowed table that is sorted has as many rows as before", async ({ page, stage }) => {
  await stage.show("/v1/tables/flights/rows?columns=delay,distance", { memory: "8MiB" });
  await expect(status(page)).toHaveText("Windowed: rows load as you scroll, 3,000,000 rows");
  await page.getByRole("columnheader", { name: "distance" }).click();
  // While they are being sorted, the status says so first.
  await expect(status(page)).toContainText(/^Windowed: .* 3,000,000 rows, sorted by distance/, {
    timeout: 60_000,
  });
  await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "3000001");
  await goToRow(page, 3_000_000);
  await expect(cell(page, 2_999_999, 2)).toHaveText(/^\d+$/);
  await expect(cell(page, 2_999_999, 2)).toBeFocused();
  await expectGrid(page);
});

test("the focus is kept while scrolling and sorting", async ({ page, stage }) => {
  await stage.show("/v1/tables/flights/rows?limit=100000");
  await cell(page, 3, 2).click();
  await page.mouse.wheel(0, 30_000);
  await expect(cell(page, 3, 2)).not.toBeInViewport();
  await expect(cell(page, 3, 2)).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(cell(page, 4, 2)).toBeFocused();
  await expect(cell(page, 4, 2)).toBeInViewport();
  await viewer(page).evaluate((element) => {
    Object.assign(element, { sort: [{ column: "delay", descending: true }] });
  });
  await expect(status(page)).toContainText("sorted by delay");
  await expect(cell(page, 0, 2)).toBeFocused();
  await expectGrid(page);
});

test("a viewer that is removed while it connects aborts its request", async ({ page, pages }) => {
  let numOpen = 0;
  const silent = createServer(({ method }, response) => {
    // The viewer also sends a DELETE request for the result.
    if (method !== "GET") {
      response.writeHead(204).end();
      return;
    }
    numOpen++;
    response.on("close", () => numOpen--);
  });
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const src = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1/tables/late/rows`;
  await page.goto(`${pages.origin}/?${new URLSearchParams({ src })}`);
  await expect.poll(() => numOpen).toBe(1);
  await viewer(page).evaluate((element) => element.remove());
  await expect.poll(() => numOpen).toBe(0);
  silent.close();
});

test("while rows arrive, the state is reported, no header moves, and the wheel scrolls on at the end", async ({
  page,
  pages,
  server,
}) => {
  const [first, second] = [gate(), gate()];
  const proxy = await CuttingProxy.start(server.origin);
  // All of lineitem has a gigabyte; 70 MB have more than 400,000 rows.
  proxy.cuts = [
    { at: 70_000_000, by: "hold", meanwhile: () => first.opened },
    { at: 90_000_000, by: "hold", meanwhile: () => second.opened },
  ];
  await show(page, pages.origin, { src: `${proxy.origin}/v1/tables/lineitem/rows` });
  await page.getByRole("gridcell").first().waitFor();
  const look = () =>
    viewer(page).evaluate((element) => {
      const { state, table } = element as unknown as {
        state: { row: number };
        table: { state: string; numRows: number };
      };
      return { row: state.row, numRows: table.numRows, state: table.state };
    });
  await viewer(page).evaluate((element) => {
    element.addEventListener("colonnade-state", () => {
      element.dataset.reported ??= (element as unknown as { table: { state: string } }).table.state;
    });
    const header = element.shadowRoot?.querySelector("[part=header]");
    const moves = new MutationObserver(() => {
      element.dataset.moved = "";
    });
    if (header) moves.observe(header, { childList: true });
  });
  await cell(page, 0, 1).hover();
  await page.mouse.wheel(0, 300);
  await expect(viewer(page)).toHaveAttribute("data-reported", "streaming");
  // From so many rows on, the scrollbar does not grow any more.
  await expect.poll(async () => (await look()).numRows).toBeGreaterThan(300_000);
  await goToRow(page, 300_000);
  await viewer(page).evaluate((element) => {
    const { table } = element as unknown as { table: { numRows: number } };
    Object.assign(element, { state: { row: table.numRows } });
  });
  await expect.poll(async () => (await look()).row).toBeGreaterThan(300_100);
  const { row, state } = await look();
  expect(state).toBe("streaming");
  await expect(viewer(page)).not.toHaveAttribute("data-moved");
  first.open();
  const scrolled = async () => {
    await page.mouse.wheel(0, 100);
    return (await look()).row;
  };
  await expect.poll(scrolled, { intervals: [100] }).toBeGreaterThan(row + 5);
  expect((await look()).state).toBe("streaming");
  second.open();
  await proxy.close();
});
