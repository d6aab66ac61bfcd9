// The dashboard over a real Spark, whose executors and driver do not always live.

import type { Page } from "@playwright/test";
import { tableFromIPC } from "apache-arrow";
import { cell, expect, goToRow, test } from "./fixtures.js";
import { Server } from "./server.js";
import { Spark } from "./spark.js";

/** Rows `[0, numRows)` in parts, each of which takes `partMs` before its first row. */
function numbered(numRows: number, numParts: number, partMs: number): string {
  const nap = `reflect('java.lang.Thread', 'sleep', cast(${partMs} as bigint)) is not null`;
  return `select id, id * 2 as twice, concat('row ', id) as name
    from range(0, ${numRows}, 1, ${numParts}) where id % ${numRows / numParts} > 0 or ${nap}`;
}

async function run(page: Page, sql: string): Promise<void> {
  await page.getByRole("textbox", { name: "SQL" }).fill(sql);
  await page.getByRole("button", { name: "Run" }).click();
}

/** That the result which the page shows has these rows, each once and in its place. */
async function expectNumbered(server: Server, numRows: number): Promise<void> {
  const id = (await server.queries())[0]?.id;
  const response = await fetch(`${server.origin}/v1/query/${id}/rows`);
  const ids = tableFromIPC(await response.arrayBuffer())
    .getChild("id")
    ?.toArray() as BigInt64Array;
  expect(ids.length).toBe(numRows);
  expect(ids.findIndex((value, row) => value !== BigInt(row))).toBe(-1);
}

test.describe("Spark", () => {
  test.describe.configure({ mode: "serial", timeout: 240_000 });
  let spark: Spark | undefined;
  let server: Server;

  test.beforeAll(async () => {
    spark = await Spark.start();
    if (spark) server = await Server.start([spark.address]);
  });
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  test.beforeEach(({}, { skip }) => {
    skip(spark === undefined, "no real Spark can be had here");
  });
  test.afterAll(async () => {
    await server?.kill();
    await spark?.kill();
  });

  test("ten million rows are looked at while later parts are still computed", async ({ page }) => {
    await page.goto(server.origin);
    await run(page, numbered(10_000_000, 40, 300));
    await expect(cell(page, 0, 3)).toHaveText("row 0", { timeout: 60_000 });
    expect(await spark?.runningJobs()).toBe(1);
    expect((await server.queries())[0]?.state).toBe("running");
    // Spark says how far it is.
    await expect(page.getByRole("progressbar")).toHaveAttribute("aria-valuenow", /\d/);
    await expect(page.getByRole("status")).toContainText("Complete: 10,000,000 rows", {
      timeout: 120_000,
    });
    await goToRow(page, 9_999_999);
    await expect(cell(page, 9_999_999, 2)).toHaveText("19999998");
    await expectNumbered(server, 10_000_000);
  });

  test("a mistake has Spark's words and its place", async ({ page }) => {
    await page.goto(server.origin);
    await run(page, "select id,\n nothing from range(3)");
    const alert = page.getByRole("alert");
    await expect(alert).toContainText("UNRESOLVED_COLUMN");
    await expect(alert).toContainText("SQLSTATE: 42703 (line 2, column 2)");
  });

  test("cancel in the page stops Spark's job", async ({ page }, { annotations }) => {
    await page.goto(server.origin);
    await run(page, numbered(100_000_000, 1000, 300));
    await expect(cell(page, 0, 3)).toHaveText("row 0", { timeout: 60_000 });
    expect(await spark?.runningJobs()).toBe(1);
    const began = performance.now();
    await page.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => spark?.runningJobs(), { intervals: [20] }).toBe(0);
    const tookMs = Math.round(performance.now() - began);
    annotations.push({ type: "cancelled", description: `${tookMs} ms` });
    await expect(page.getByRole("status")).toContainText("Cancelled");
  });

  test("an executor that is killed costs time and no row", async ({ page }) => {
    await page.goto(server.origin);
    await run(page, numbered(2_000_000, 20, 1000));
    await expect(cell(page, 0, 3)).toHaveText("row 0", { timeout: 60_000 });
    spark?.killExecutor();
    await expect(page.getByRole("status")).toContainText("Complete: 2,000,000 rows", {
      timeout: 120_000,
    });
    await expectNumbered(server, 2_000_000);
  });

  test("a driver that is killed is an error, and the next query is answered by the next driver", async ({
    page,
  }) => {
    await page.goto(server.origin);
    await run(page, numbered(2_000_000, 20, 1000));
    await expect(cell(page, 0, 3)).toHaveText("row 0", { timeout: 60_000 });
    const before = spark;
    await before?.kill();
    await expect(page.getByRole("alert")).toContainText(/Spark/, { timeout: 60_000 });
    // What has come stays, and is not taken for the whole.
    await expect(cell(page, 0, 3)).toHaveText("row 0");
    await expect(page.getByRole("status")).not.toContainText("Complete");
    spark = await Spark.start(before);
    await run(page, numbered(2_000_000, 20, 1));
    await expect(page.getByRole("status")).toContainText("Complete: 2,000,000 rows", {
      timeout: 120_000,
    });
    await expectNumbered(server, 2_000_000);
  });
});
