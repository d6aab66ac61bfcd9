// A page with more tables than the browser's connections to one server.

import { Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { test as base, type Page } from "@playwright/test";
import { Site } from "../../scripts/site.mjs";
import { expect } from "./fixtures.js";
import { inCheckout, Server } from "./server.js";

const LINEITEM_ROWS = 6_001_215;
const FLIGHTS_ROWS = 3_000_000;
/** So slow that four streams take seconds, as over a network. */
const PACE_BYTES_PER_S = 6_000_000;

const PAGE = `<!doctype html><title>Many</title>
<style>colonnade-viewer { height: 180px }</style>
<script type="module" src="/package/define.js"></script>`;

/** Counts the site's requests for rows. */
class Traffic {
  numOpen = 0;
  maxOpen = 0;
  /** The number of streams that were resumed by the result's id. */
  numResumed = 0;

  /** Slows and counts a stream; requests with a limit are row blocks of windowed tables and pass. */
  readonly through = (path: string): Transform | undefined => {
    const { pathname, searchParams } = new URL(path, "http://localhost");
    if (!pathname.endsWith("/rows") || searchParams.has("limit")) return undefined;
    if (pathname.startsWith("/v1/query/")) this.numResumed++;
    this.numOpen++;
    this.maxOpen = Math.max(this.maxOpen, this.numOpen);
    const paced = new Transform({
      transform: (bytes: Buffer, _, next) => {
        const waitMs = (bytes.length / PACE_BYTES_PER_S) * 1000;
        void sleep(waitMs).then(() => next(null, bytes));
      },
    });
    paced.once("close", () => this.numOpen--);
    return paced;
  };
}

const test = base.extend<{ site: Site; traffic: Traffic }, { server: Server }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.kill();
    },
    { scope: "worker" },
  ],
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

const streams: Wanted[] = [
  ...Array.from({ length: 5 }, () => ({ src: "/v1/tables/lineitem/rows?columns=l_orderkey" })),
  ...Array.from({ length: 3 }, () => ({
    src: "/v1/tables/flights/rows?columns=date,distance",
  })),
];
const windowed: Wanted[] = Array.from({ length: 4 }, () => ({
  src: "/v1/tables/lineitem/rows",
  memory: "16MiB",
}));

test("twelve viewers share four streams, and each shows all its rows", async ({
  page,
  site,
  traffic,
}) => {
  test.setTimeout(240_000);
  await page.goto(site.origin);
  await show(page, [...streams, ...windowed]);

  // All tables have their first rows before the streams end.
  await expect
    .poll(async () => (await shown(page)).filter(({ numRows }) => numRows > 0).length, {
      intervals: [50],
    })
    .toBe(12);
  const early = await shown(page);
  const numEnded = early.filter(({ state }) => state === "complete").length;
  expect(numEnded).toBeLessThan(4);

  // A far row of a windowed table is loaded while other streams may run.
  await expect
    .poll(async () => (await shown(page)).filter(({ state }) => state === "windowed").length)
    .toBe(4);
  const last = page.locator("colonnade-viewer").last();
  const input = last.getByLabel("Go to row");
  const startMs = Date.now();
  await input.fill("5000000");
  await input.press("Enter");
  const first = last.locator('[aria-rowindex="5000001"] [role=gridcell][aria-colindex="1"]');
  await expect(first).toHaveText(/^\d+$/);
  const tookMs = Date.now() - startMs;
  console.log(
    `row 5,000,000 of a windowed table while ${traffic.numOpen} streams run: ${tookMs} ms`,
  );

  await expect
    .poll(async () => (await shown(page)).map(({ state, numRows }) => `${state} ${numRows}`), {
      timeout: 200_000,
    })
    .toEqual([
      ...Array.from({ length: 5 }, () => `complete ${LINEITEM_ROWS}`),
      ...Array.from({ length: 3 }, () => `complete ${FLIGHTS_ROWS}`),
      ...Array.from({ length: 4 }, () => `windowed ${LINEITEM_ROWS}`),
    ]);
  expect(traffic.maxOpen).toBe(4);
  expect(traffic.numResumed).toBeGreaterThan(0);

  // The last rows and one in the middle equal those of separate requests.
  for (const row of [(numRows: number) => numRows - 1, () => 1_234_567]) {
    const texts = await textsOf(page, row);
    const wanted = await Promise.all(
      [...streams, ...windowed].map(({ src }, index) =>
        rowFrom(page, src, row(index < 5 || index > 7 ? LINEITEM_ROWS : FLIGHTS_ROWS)),
      ),
    );
    expect(texts).toEqual(wanted);
  }
});

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

test("a hidden page keeps one stream; the others resume when it is visible again", async ({
  page,
  site,
  traffic,
}) => {
  test.setTimeout(180_000);
  await page.goto(site.origin);
  await show(page, streams.slice(0, 3));
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
  await expect
    .poll(async () => (await shown(page)).map(({ state, numRows }) => `${state} ${numRows}`), {
      timeout: 120_000,
    })
    .toEqual(Array.from({ length: 3 }, () => `complete ${LINEITEM_ROWS}`));
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
  await show(page, [...streams, ...streams]);
  await expect.poll(() => traffic.numOpen).toBe(4);
  await page.locator("colonnade-viewer").evaluateAll((viewers) => {
    for (const viewer of viewers) (viewer as unknown as { cancel(): void }).cancel();
  });
  await expect.poll(() => traffic.numOpen).toBe(0);
  await show(page, [{ src: "/v1/tables/every_type/rows" }]);
  await expect(page.getByRole("status").last()).toContainText("Complete");
});
