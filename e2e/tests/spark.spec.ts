// The dashboard with a real Spark, also when executors or the driver are killed.

import type { Page } from "@playwright/test";
import { RecordBatchReader } from "apache-arrow";
import { cell, expect, goToRow, test } from "./fixtures.js";
import { Server } from "./server.js";
import { Spark } from "./spark.js";

const MIB = 1 << 20;

/** The memory budget of a stream. */
const BUDGET_MIB = 64;

/**
 * Memory in addition to the budget: 8 MiB of the result's spool, 4 MiB that the connection to Spark may
 * hold unread, and copies of a 4 MiB batch of Spark: received, assembled, checked, spooled and sent.
 */
const BESIDE_MIB = 32;

/** A predicate that is true, and takes `ms` to evaluate. */
function nap(ms: number): string {
  return `reflect('java.lang.Thread', 'sleep', cast(${ms} as bigint)) is not null`;
}

/** A statement for the rows `[0, numRows)` in partitions; each takes `partMs` before its first row. */
function numbered(numRows: number, numParts: number, partMs: number): string {
  return `select id, id * 2 as twice, concat('row ', id) as name
    from range(0, ${numRows}, 1, ${numParts}) where id % ${numRows / numParts} > 0 or ${nap(partMs)}`;
}

async function run(page: Page, sql: string): Promise<void> {
  await page.getByRole("textbox", { name: "SQL" }).fill(sql);
  await page.getByRole("button", { name: "Run" }).click();
}

function ask(server: Server, sql: string): Promise<Response> {
  return fetch(`${server.origin}/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
}

/** Reads a stream and checks that each `id` is the row number; returns the number of rows. */
async function rowsInOrder(response: Response): Promise<number> {
  let numRows = 0;
  for await (const batch of await RecordBatchReader.from(response)) {
    const ids = batch.getChild("id")?.toArray() as BigInt64Array;
    expect(ids.findIndex((id, row) => id !== BigInt(numRows + row))).toBe(-1);
    numRows += ids.length;
  }
  return numRows;
}

/** Expects that the result that the page shows has these rows, each once and in order. */
async function expectNumbered(server: Server, numRows: number): Promise<void> {
  const id = (await server.queries())[0]?.id;
  const response = await fetch(`${server.origin}/v1/query/${id}/rows`);
  expect(await rowsInOrder(response)).toBe(numRows);
}

test.describe("Spark", { tag: "@full" }, () => {
  test.describe.configure({ mode: "serial", timeout: 240_000 });
  let spark: Spark | undefined;
  let server: Server;

  test.beforeAll(async () => {
    // Spark may have to be installed first.
    test.setTimeout(600_000);
    spark = await Spark.start();
    if (spark) server = await Server.start([spark.address]);
  });
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  test.beforeEach(({}, { skip }) => {
    skip(spark === undefined, "Spark is not available");
  });
  test.afterAll(async () => {
    await server?.kill();
    await spark?.kill();
  });

  test("ten million rows are shown while later partitions are still computed", async ({ page }) => {
    await page.goto(server.origin);
    await run(page, numbered(10_000_000, 40, 300));
    await expect(cell(page, 0, 3)).toHaveText("row 0", { timeout: 60_000 });
    expect(await spark?.runningJobs()).toBe(1);
    expect((await server.queries())[0]?.state).toBe("running");
    // Spark reports its progress.
    await expect(page.getByRole("progressbar")).toHaveAttribute("aria-valuenow", /\d/);
    await expect(page.getByRole("status")).toContainText("Complete: 10,000,000 rows", {
      timeout: 120_000,
    });
    await goToRow(page, 9_999_999);
    await expect(cell(page, 9_999_999, 2)).toHaveText("19999998");
    await expectNumbered(server, 10_000_000);
  });

  test("the first row is shown before the second partition is done", async ({ page }) => {
    await page.goto(server.origin);
    // One executor starts with partition 0 while the other starts with partition 1.
    await run(
      page,
      `select id, concat('row ', id) as name from range(0, 4000, 1, 4)
       where id % 1000 > 0 or id = 0 or ${nap(6000)}`,
    );
    await expect(cell(page, 0, 2)).toHaveText("row 0", { timeout: 60_000 });
    const tasks = await spark?.tasks();
    expect(tasks?.numTasks).toBe(4);
    expect(tasks?.numDone).toBeLessThanOrEqual(1);
    await expect(page.getByRole("status")).toContainText("Complete: 4,000 rows", {
      timeout: 60_000,
    });
    await expectNumbered(server, 4000);
  });

  test("partitions that are ready before the first one use no more than the stream's memory budget", async () => {
    const fresh = await Server.start([spark?.address ?? "", "--stream-memory", `${BUDGET_MIB}MiB`]);
    try {
      await rowsInOrder(await ask(fresh, numbered(100_000, 4, 1)));
      const ownBytes = fresh.ownBytes();
      let [peakBytes, peakAheadBytes] = [0, 0];
      let isOver = false;
      const sampling = async () => {
        while (!isOver) {
          peakBytes = Math.max(peakBytes, fresh.ownBytes());
          const aheadBytes = await fresh.metric("colonnade_run_ahead_bytes");
          peakAheadBytes = Math.max(peakAheadBytes, aheadBytes);
        }
      };
      const numParts = 27;
      const numRows = numParts * 16_384;
      const reading = async () => {
        try {
          // 16 MiB per partition.
          const answer = ask(
            fresh,
            `select id, repeat('x', 1024) as text from range(0, ${numRows}, 1, ${numParts})
             where id > 0 or ${nap(30_000)}`,
          );
          await expect
            .poll(() => spark?.tasks(), { timeout: 60_000 })
            .toEqual({ numTasks: numParts, numDone: numParts - 1 });
          expect((await fresh.queries())[0]?.rows_sent).toBe(0);
          expect(await rowsInOrder(await answer)).toBe(numRows);
        } finally {
          isOver = true;
        }
      };
      await Promise.all([sampling(), reading()]);
      const grownMib = Math.round((peakBytes - ownBytes) / MIB);
      const aheadMib = Math.round(peakAheadBytes / MIB);
      const description = `${grownMib} MiB more than before, ${aheadMib} MiB read ahead`;
      test.info().annotations.push({ type: "memory", description });
      expect(aheadMib).toBeLessThanOrEqual(BUDGET_MIB);
      expect(grownMib).toBeLessThan(BUDGET_MIB + BESIDE_MIB);
    } finally {
      await fresh.kill();
    }
  });

  test("an error in a statement shows Spark's message and position", async ({ page }) => {
    await page.goto(server.origin);
    await run(page, "select id,\n nothing from range(3)");
    const alert = page.getByRole("alert");
    await expect(alert).toContainText("UNRESOLVED_COLUMN");
    await expect(alert).toContainText("SQLSTATE: 42703 (line 2, column 2)");
  });

  test("Cancel in the page stops Spark's job", async ({ page }, { annotations }) => {
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

  test("no row is lost when an executor is killed", async ({ page }) => {
    await page.goto(server.origin);
    await run(page, numbered(2_000_000, 20, 500));
    await expect(cell(page, 0, 3)).toHaveText("row 0", { timeout: 60_000 });
    spark?.killExecutor();
    await expect(page.getByRole("status")).toContainText("Complete: 2,000,000 rows", {
      timeout: 120_000,
    });
    await expectNumbered(server, 2_000_000);
  });

  test("a killed driver is an error, and the next query uses the new driver", async ({ page }) => {
    await page.goto(server.origin);
    await run(page, numbered(2_000_000, 20, 500));
    await expect(cell(page, 0, 3)).toHaveText("row 0", { timeout: 60_000 });
    const before = spark;
    await before?.kill();
    await expect(page.getByRole("alert")).toContainText(/Spark/, { timeout: 60_000 });
    // The received rows stay, and the result is not shown as complete.
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
