import type { CDPSession, Page } from "@playwright/test";
import { chooseTable, chromiumOnly, expect, SMALL_COMPLETE, SMALL_ROWS, test } from "./fixtures.js";
import { CuttingProxy, gate } from "./proxy.js";
import { quantile, traceMainThread } from "./trace.js";

const COMPLETE = "Complete: 6,001,215 rows";
const PATIENCE = { timeout: 90_000 };

/** Turns the wheel by one notch in each of `numFrames`; resolves with the number of scrolled rows. */
async function turnWheel(page: Page, session: CDPSession, numFrames: number): Promise<number> {
  const box = await page.getByRole("grid").boundingBox();
  if (box === null) throw new Error("there is no grid");
  const center = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const before = await topRow(page);
  for (let frame = 0; frame < numFrames; frame++) {
    const notch = { type: "mouseWheel", ...center, deltaX: 0, deltaY: 100 } as const;
    await session.send("Input.dispatchMouseEvent", notch);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  return (await topRow(page)) - before;
}

function topRow(page: Page): Promise<number> {
  return page.evaluate(() => document.querySelector("colonnade-viewer")?.state.row ?? 0);
}

/** Scrolls a plain table of cells by one row per frame, as a baseline. */
function movePlainTable(page: Page, numFrames: number): Promise<void> {
  return page.evaluate(async (numFrames) => {
    const [numRows, numColumns] = [24, 11];
    const rows = Array.from({ length: numRows }, () => {
      const row = document.createElement("div");
      row.style.cssText = "position: absolute; height: 30px; contain: strict; width: 100%";
      for (let column = 0; column < numColumns; column++) {
        const cell = document.createElement("span");
        cell.style.cssText = `position: absolute; left: ${column * 110}px; width: 100px`;
        row.append(cell);
      }
      document.body.append(row);
      return row;
    });
    for (let frame = 0; frame < numFrames; frame++) {
      for (const [place, row] of rows.entries()) {
        const topRow = frame + ((((place - frame) % numRows) + numRows) % numRows);
        row.style.transform = `translateY(${(topRow - frame) * 30}px)`;
        if (topRow !== frame + numRows - 1 && frame > 0) continue;
        for (const [column, cell] of [...row.children].entries()) {
          cell.textContent = `${topRow}.${column}`;
        }
      }
      await new Promise(requestAnimationFrame);
    }
  }, numFrames);
}

test(
  "scrolling costs at most a few times as much as a plain table, also while rows arrive",
  chromiumOnly("speaks the DevTools protocol", "@full"),
  async ({ page, demo }) => {
    const session = await page.context().newCDPSession(page);
    await page.goto(`${demo.origin}/v1/version`);
    const plain = await traceMainThread(session, () => movePlainTable(page, 300));
    const plainMs = quantile(plain.frameMs, 0.5);
    for (const when of ["while it streams", "when all is here"]) {
      await page.goto(demo.origin);
      await chooseTable(page, "lineitem");
      await expect(page.getByRole("gridcell").first()).toBeVisible();
      if (when === "when all is here") {
        await expect(page.getByRole("status")).toContainText(COMPLETE, PATIENCE);
      }
      let rows = 0;
      const { frameMs, taskMs } = await traceMainThread(session, async () => {
        rows = await turnWheel(page, session, 300);
      });
      expect(rows).toBeGreaterThan(20);
      const [p50Ms, p95Ms] = [quantile(frameMs, 0.5), quantile(frameMs, 0.95)];
      const worstMs = Math.max(...taskMs);
      console.log(
        `${when}: ${rows} rows in ${frameMs.length} frames; main thread, ms of processor time a frame:`,
        `p50 ${p50Ms.toFixed(1)}, p95 ${p95Ms.toFixed(1)};`,
        `longest task ${worstMs.toFixed(1)}; a plain table's p50 ${plainMs.toFixed(1)}`,
      );
      expect(p50Ms / plainMs).toBeLessThan(5);
      expect(p95Ms / plainMs).toBeLessThan(12);
      expect(worstMs / plainMs).toBeLessThan(40);
    }
  },
);

test(
  "rows in memory are never blank while scrolling",
  chromiumOnly("speaks the DevTools protocol"),
  async ({ page, small }) => {
    const session = await page.context().newCDPSession(page);
    await page.goto(small.origin);
    await chooseTable(page, "lineitem");
    await expect(page.getByRole("status")).toContainText(SMALL_COMPLETE);
    await page.evaluate(() => {
      const grid = document
        .querySelector("colonnade-viewer")
        ?.shadowRoot?.querySelector("[role=grid]");
      const seen = { frames: 0, blank: 0 };
      const countFrame = () => {
        seen.frames++;
        if (grid?.querySelector(".row:not([hidden]) > .pending:not([hidden])")) seen.blank++;
        requestAnimationFrame(countFrame);
      };
      requestAnimationFrame(countFrame);
      Object.assign(globalThis, { seen });
    });
    expect(await turnWheel(page, session, 100)).toBeGreaterThan(100);
    const seen = await page.evaluate(
      () => (globalThis as unknown as { seen: { frames: number; blank: number } }).seen,
    );
    console.log(`blank cells in ${seen.blank} of ${seen.frames} frames`);
    expect(seen.frames).toBeGreaterThan(50);
    expect(seen.blank).toBe(0);
  },
);

test(
  "the visible rows stay in place while rows arrive",
  chromiumOnly("speaks the DevTools protocol"),
  async ({ page, small }) => {
    const { opened, open } = gate();
    const proxy = await CuttingProxy.start(small.origin);
    await page.goto(proxy.origin);
    await expect(page.getByRole("link", { name: /^lineitem\b/ })).toBeVisible();
    // All of lineitem has 17 MB.
    proxy.cuts = [{ at: proxy.numBytes + 6_000_000, by: "hold", meanwhile: () => opened }];
    await chooseTable(page, "lineitem");
    await expect(page.getByRole("gridcell").first()).toBeVisible();
    const session = await page.context().newCDPSession(page);
    await turnWheel(page, session, 10);
    const seen = () =>
      page.getByRole("grid").evaluate((grid) => {
        const headers = [...grid.querySelectorAll("[role=columnheader]")];
        const top = Math.max(...headers.map((header) => header.getBoundingClientRect().bottom));
        return [...grid.querySelectorAll("[role=row][aria-rowindex]")]
          .map((row) => ({
            row: Number(row.getAttribute("aria-rowindex")),
            topPx: Math.round(row.getBoundingClientRect().top),
          }))
          .filter(({ row, topPx }) => row > 1 && topPx >= top && topPx < innerHeight)
          .sort((a, b) => a.row - b.row);
      });
    const numRows = () =>
      page.evaluate(() => document.querySelector("colonnade-viewer")?.table?.numRows ?? 0);
    const [before, rowsBefore] = [await seen(), await numRows()];
    expect(before.length).toBeGreaterThan(10);
    expect(rowsBefore).toBeLessThan(SMALL_ROWS);
    open();
    await expect.poll(numRows).toBe(SMALL_ROWS);
    expect(await seen()).toEqual(before);
    await proxy.close();
  },
);
