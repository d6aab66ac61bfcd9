// A page with more tables than the browser's connections to one server.

import { Transform } from "node:stream";
import type { Page } from "@playwright/test";
import { Site } from "../../scripts/site.mjs";
import { test as base, chromiumOnly, expect, SMALL_ROWS } from "./fixtures.js";
import { gate } from "./proxy.js";
import { inCheckout, type Server } from "./server.js";

/** The bytes of a stream that pass at once; each of the tables that are held is larger. */
const PASSED_BYTES = 5_000_000;

const PAGE = `<!doctype html><title>Many</title>
<style>colonnade-viewer { height: 180px }</style>
<script type="module" src="/package/define.js"></script>`;

/**
 * How often a byte of a held stream passes. If Firefox drops the last bytes that arrived, it closes the connection of
 * a left stream only when the next bytes arrive, even if its request is aborted. A server always sends some.
 */
const HEARTBEAT_MS = 1000;

/** Counts the site's requests for rows, and holds their streams until `open` is called. */
class Traffic {
  numOpen = 0;
  /** The number of streams that were resumed by the result's id. */
  numResumed = 0;
  readonly #gate = gate();

  open(): void {
    this.#gate.open();
  }

  /** Holds and counts a stream; requests with a limit are row blocks of windowed tables and pass. */
  readonly through = (path: string): Transform | undefined => {
    const { pathname, searchParams } = new URL(path, "http://localhost");
    if (!pathname.endsWith("/rows") || searchParams.has("limit")) return undefined;
    if (pathname.startsWith("/v1/query/")) this.numResumed++;
    this.numOpen++;
    let numBytes = 0;
    let waiting: Buffer | undefined;
    const held = new Transform({
      transform: (bytes: Buffer, _, next) => {
        numBytes += bytes.length;
        if (numBytes <= PASSED_BYTES) return next(null, bytes);
        waiting = bytes;
        void this.#gate.opened.then(() => {
          const rest = waiting;
          waiting = undefined;
          next(null, rest);
        });
      },
    });
    const timer = setInterval(() => {
      if (waiting === undefined) return;
      held.push(waiting.subarray(0, 1));
      waiting = waiting.subarray(1);
    }, HEARTBEAT_MS);
    held.once("close", () => {
      clearInterval(timer);
      this.numOpen--;
    });
    return held;
  };
}

const test = base.extend<{ site: Site; traffic: Traffic; server: Server }>({
  server: async ({ small }, use) => use(small),
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  traffic: async ({}, use) => use(new Traffic()),
  site: async ({ server, traffic }, use) => {
    const site = new Site();
    site.folders = { "/package": inCheckout("web/dist") };
    site.pages = { "/": PAGE };
    site.upstream = server.origin;
    site.through = traffic.through;
    await site.listen();
    await use(site);
    traffic.open();
    site.close();
  },
});

interface Wanted {
  src: string;
  memory?: string;
}

/** Adds a viewer for each table to the page. */
async function show(page: Page, tables: Wanted[]): Promise<void> {
  await page.evaluate((all) => {
    for (const { src, memory } of all) {
      const viewer = document.createElement("colonnade-viewer");
      if (memory !== undefined) viewer.setAttribute("memory", memory);
      viewer.setAttribute("src", src);
      document.body.append(viewer);
    }
  }, tables);
}

interface Shown {
  state: string | undefined;
  numRows: number;
  connection: string | undefined;
}

/** The state of each viewer's table. */
function shown(page: Page): Promise<Shown[]> {
  return page.locator("colonnade-viewer").evaluateAll((viewers) =>
    viewers.map((viewer) => {
      const { table } = viewer as unknown as {
        table?: { state: string; numRows: number; progress: { connection: string } };
      };
      const connection = table?.progress.connection;
      return { state: table?.state, numRows: table?.numRows ?? 0, connection };
    }),
  );
}

/** The texts of one row of each viewer's table; `row` computes it from the number of rows. */
function textsOf(page: Page, row: (numRows: number) => number): Promise<(string | null)[][]> {
  const code = row.toString();
  return page.locator("colonnade-viewer").evaluateAll((viewers, source) => {
    const rowOf = new Function(`return ${source}`)() as (numRows: number) => number;
    return Promise.all(
      viewers.map(async (viewer) => {
        const { table } = viewer as unknown as {
          table: {
            numRows: number;
            text(range: { start: number; end: number }): Promise<(string | null)[][]>;
          };
        };
        const start = rowOf(table.numRows);
        const [texts] = await table.text({ start, end: start + 1 });
        return texts ?? [];
      }),
    );
  }, code);
}

const lineitem: Wanted = { src: "/v1/tables/lineitem/rows" };

for (const { tables, tag, numRows, memory } of [
  {
    tables: "small tables",
    tag: [],
    numRows: { lineitem: SMALL_ROWS, flights: SMALL_ROWS },
    memory: "2MiB",
  },
  {
    tables: "large tables",
    tag: "@full",
    numRows: { lineitem: 6_001_215, flights: 3_000_000 },
    memory: "4MiB",
  },
]) {
  const columns = tag === "@full" ? "?columns=l_orderkey" : "";
  const windowed = Array.from({ length: 4 }, () => ({
    ...lineitem,
    memory,
    numRows: numRows.lineitem,
  }));
  const streams: (Wanted & { numRows: number })[] = [
    ...Array.from({ length: 5 }, () => ({
      src: `${lineitem.src}${columns}`,
      numRows: numRows.lineitem,
    })),
    ...Array.from({ length: 3 }, () => ({
      src: "/v1/tables/flights/rows?columns=date,distance",
      numRows: numRows.flights,
    })),
  ];
  const wanted: (Wanted & { numRows: number })[] = [...windowed, ...streams];

  test.describe(tables, { tag }, () => {
    test.use({
      server: async ({ demo, small }, use) => use(tag === "@full" ? demo : small),
    });

    test("twelve viewers share four streams, and each shows all its rows", async ({
      page,
      site,
      traffic,
    }) => {
      await page.goto(site.origin);
      const states = async () => (await shown(page)).map(({ state }) => state);
      // Streams that are held yield only to tables without rows, so these reach their budgets before.
      await show(page, windowed);
      await expect.poll(states).toEqual(Array(4).fill("windowed"));
      await show(page, streams);

      // All tables have their first rows before the streams of lineitem end.
      await expect
        .poll(async () => (await shown(page)).filter(({ numRows }) => numRows > 0).length)
        .toBe(12);
      expect((await states()).slice(4, 9)).not.toContain("complete");
      // The others have yielded their connections.
      await expect.poll(() => traffic.numOpen).toBe(4);
      await expect
        .poll(async () => (await shown(page)).some(({ connection }) => connection === "waiting"))
        .toBe(true);

      // A far row of a windowed table is loaded while the other streams are held.
      const far = page.locator("colonnade-viewer").nth(3);
      const input = far.getByLabel("Go to row");
      const row = Math.floor(numRows.lineitem * 0.8);
      await input.fill(String(row));
      await input.press("Enter");
      const first = far.locator(`[aria-rowindex="${row + 1}"] [role=gridcell][aria-colindex="1"]`);
      await expect(first).toHaveText(/^\d+$/);
      await expect.poll(() => traffic.numOpen).toBe(4);

      traffic.open();
      await expect
        .poll(async () => (await shown(page)).map(({ state, numRows }) => `${state} ${numRows}`), {
          timeout: 90_000,
        })
        .toEqual(
          wanted.map(({ memory, numRows }) =>
            memory === undefined ? `complete ${numRows}` : `windowed ${numRows}`,
          ),
        );
      expect(traffic.numResumed).toBeGreaterThan(0);

      // The last rows and one in the middle equal those of separate requests.
      for (const row of [(numRows: number) => numRows - 1, (numRows: number) => numRows >> 1]) {
        const texts = await textsOf(page, row);
        const alone = await Promise.all(
          wanted.map(({ src, numRows }) => rowFrom(page, src, row(numRows))),
        );
        expect(texts).toEqual(alone);
      }
    });
  });
}

/** The texts of one row, read with its own request. */
function rowFrom(page: Page, src: string, row: number): Promise<(string | null)[]> {
  return page.evaluate(
    async ([address, offset]) => {
      const path: string = "/package/index.js";
      const { open } = (await import(path)) as typeof import("colonnade");
      const url = new URL(address as string, location.href);
      url.searchParams.set("offset", String(offset));
      url.searchParams.set("limit", "1");
      const table = await open(url);
      await table.done;
      const [texts] = await table.text({ start: 0, end: 1 });
      table.close();
      return texts ?? [];
    },
    [src, row] as const,
  );
}

test("a hidden page keeps one stream; the others resume when it is visible again", {
  tag: "@firefox",
}, async ({ page, site, traffic }) => {
  await page.goto(site.origin);
  await show(page, Array(3).fill(lineitem));
  await expect.poll(() => traffic.numOpen).toBe(3);
  await setHidden(page, true);
  await expect.poll(() => traffic.numOpen).toBe(1);
  await expect
    .poll(
      async () => (await shown(page)).filter(({ connection }) => connection === "waiting").length,
    )
    .toBe(2);
  await setHidden(page, false);
  await expect.poll(() => traffic.numOpen).toBe(3);
  traffic.open();
  await expect
    .poll(async () => (await shown(page)).map(({ state, numRows }) => `${state} ${numRows}`))
    .toEqual(Array(3).fill(`complete ${SMALL_ROWS}`));
});

/** Simulates a hidden or visible page; Playwright's pages are always visible. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((isHidden) => {
    Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

test("after all viewers are cancelled, also waiting ones, a new table gets a connection", async ({
  page,
  site,
  traffic,
}) => {
  await page.goto(site.origin);
  await show(page, Array(16).fill(lineitem));
  await expect.poll(() => traffic.numOpen).toBe(4);
  await page.locator("colonnade-viewer").evaluateAll((viewers) => {
    for (const viewer of viewers) (viewer as unknown as { cancel(): void }).cancel();
  });
  await expect.poll(() => traffic.numOpen).toBe(0);
  await show(page, [{ src: "/v1/tables/every_type/rows" }]);
  await expect(page.getByRole("status").last()).toContainText("Complete");
});

/** What a page and its server hold, after a garbage collection. */
async function held(page: Page, server: Server) {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  await client.send("HeapProfiler.collectGarbage");
  const { metrics } = await client.send("Performance.getMetrics");
  await client.detach();
  const metric = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? 0;
  return {
    numListeners: metric("JSEventListeners"),
    numNodes: metric("Nodes"),
    heapBytes: metric("JSHeapUsedSize"),
    numWorkers: page.workers().length,
    running: await server.running(),
  };
}

test(
  "a page holds no more after 100 tables than after ten",
  chromiumOnly("speaks the DevTools protocol"),
  async ({ page, site, server }) => {
    await page.goto(site.origin);
    const open = (first: number, end: number) =>
      page.evaluate(
        async ([from, to]) => {
          const viewer =
            document.querySelector("colonnade-viewer") ??
            document.createElement("colonnade-viewer");
          for (let index = from; index < to; index++) {
            // Every third table is in an element of its own, and every second one sorted.
            const isOwn = index % 3 === 0;
            const each = isOwn ? document.createElement("colonnade-viewer") : viewer;
            each.src = `/v1/tables/flights/rows?limit=${1000 + index}`;
            if (!each.isConnected) document.body.append(each);
            const table = await each.ready;
            await table.done;
            if (index % 2 === 0) {
              each.state = { sort: [{ column: "delay", descending: true }] };
              await new Promise((resolve) =>
                each.addEventListener("colonnade-sort", resolve, { once: true }),
              );
            }
            each.selection = {
              kind: "cells",
              rows: { start: 0, end: 9 },
              columns: { start: 0, end: 2 },
            };
            await each.selectedValues();
            if (isOwn) each.remove();
          }
          viewer.src = null;
        },
        [first, end] as const,
      );
    await open(0, 10);
    // Closed tables are held until their last timers have ended.
    await page.waitForTimeout(4000);
    const few = await held(page, server);
    await open(10, 100);
    await expect(async () => {
      const many = await held(page, server);
      expect(many.numWorkers).toBe(few.numWorkers);
      expect(many.running).toEqual([]);
      expect(many.numListeners).toBeLessThanOrEqual(few.numListeners + 5);
      expect(many.numNodes).toBeLessThanOrEqual(few.numNodes + 50);
      expect(many.heapBytes).toBeLessThan(1.25 * few.heapBytes);
    }).toPass();
  },
);

test("viewers share the memory of their page, and what one leaves is for the next", {
  tag: "@firefox",
}, async ({ page, site, traffic }) => {
  traffic.open();
  await page.goto(site.origin);
  const ended = async (states: string[]) => {
    const found = async () =>
      (await shown(page)).map(({ state, numRows }) => `${state} ${numRows}`);
    await expect.poll(found).toEqual(states.map((state) => `${state} ${SMALL_ROWS}`));
  };
  await show(page, [lineitem]);
  await ended(["complete"]);
  const tableBytes = await page.locator("colonnade-viewer").evaluate(async (viewer) => {
    const path: string = "/package/index.js";
    const { setPageMemory } = (await import(path)) as typeof import("colonnade");
    const { table } = viewer as unknown as { table: { progress: { bytes: number } } };
    setPageMemory(1.5 * table.progress.bytes);
    return table.progress.bytes;
  });
  await show(page, [lineitem]);
  await ended(["complete", "windowed"]);
  await show(page, [lineitem]);
  await ended(["complete", "windowed", "windowed"]);
  const budgets = await page
    .locator("colonnade-viewer")
    .evaluateAll((viewers) =>
      viewers.map(
        (viewer) => (viewer as unknown as { table: { memoryBytes: number } }).table.memoryBytes,
      ),
    );
  expect(budgets[1]).toBeLessThan(0.7 * tableBytes);
  expect(budgets[2]).toBeLessThan(0.1 * tableBytes);
  const last = (numRows: number) => numRows - 1;
  const [texts, ...others] = await textsOf(page, last);
  expect(others).toEqual([texts, texts]);

  await page.locator("colonnade-viewer").evaluateAll((viewers) => {
    for (const viewer of viewers) viewer.remove();
  });
  await show(page, [lineitem]);
  await ended(["complete"]);
});
