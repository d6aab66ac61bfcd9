// The dashboard over a real Spark, whose executors and driver do not always live.

import type { Page } from "@playwright/test";
import { RecordBatchReader } from "apache-arrow";
import { cell, expect, goToRow, test } from "./fixtures.js";
import { Server } from "./server.js";
import { Spark } from "./spark.js";

const MIB = 1 << 20;

/** What a stream may hold. */
const BUDGET_MIB = 64;

/**
 * What stands beside it: 8 MiB of the result's log, 4 MiB that the connection to Spark may hold unread, and
 * a batch of Spark, 4 MiB, as it comes, as it is put together, checked, logged and sent.
 */
const BESIDE_MIB = 32;

/** A predicate that holds, after that time. */
function nap(ms: number): string {
  return `reflect('java.lang.Thread', 'sleep', cast(${ms} as bigint)) is not null`;
}

/** Rows `[0, numRows)` in parts, each of which takes `partMs` before its first row. */
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

/** Reads a whole stream, none of which is kept; the number of its rows, whose `id` is their place. */
async function rowsInOrder(response: Response): Promise<number> {
  let numRows = 0;
  for await (const batch of await RecordBatchReader.from(response)) {
    const ids = batch.getChild("id")?.toArray() as BigInt64Array;
    expect(ids.findIndex((id, row) => id !== BigInt(numRows + row))).toBe(-1);
    numRows += ids.length;
  }
  return numRows;
}

/** That the result which the page shows has these rows, each once and in its place. */
async function expectNumbered(server: Server, numRows: number): Promise<void> {
  const id = (await server.queries())[0]?.id;
  const response = await fetch(`${server.origin}/v1/query/${id}/rows`);
  expect(await rowsInOrder(response)).toBe(numRows);
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

  test("the first row is on screen before the second part is done", async ({ page }) => {
    await page.goto(server.origin);
    // The other executor begins with part 1 when this one begins with part 0.
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

  test("parts that are ready before the first cost the server no more than a stream may", async () => {
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
          // 16 MiB a part.
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
    await run(page, numbered(2_000_000, 20, 500));
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
    await run(page, numbered(2_000_000, 20, 500));
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
