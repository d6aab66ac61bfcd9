// A page that is open all day: what it holds does not grow, and it survives what happens to pages. Chromium's
// debugger counts listeners and freezes pages.

import type { Page } from "@playwright/test";
import { cell, expect } from "./fixtures.js";
import { testOn } from "./other-origin.js";
import { freePort, Server } from "./server.js";

const PAGE = `<!doctype html><html lang="en"><title>All day</title>
<style>colonnade-viewer { height: 500px; width: 900px }</style>
<script type="module">
import "/define.js";
const src = new URLSearchParams(location.search).get("src");
const viewer = document.createElement("colonnade-viewer");
if (src !== null) {
  viewer.src = src;
  document.body.append(viewer);
}
</script>`;

const test = testOn(PAGE);
const status = (page: Page) => page.getByRole("status");

declare global {
  /** What the page has made and not given back. */
  var held: { ports: Set<MessagePort>; urls: Set<string> };
}

/** Counts the page's message channels and object URLs. */
function countHeld(): void {
  const held = { ports: new Set<MessagePort>(), urls: new Set<string>() };
  globalThis.held = held;
  const { close } = MessagePort.prototype;
  const others = new WeakMap<MessagePort, MessagePort>();
  globalThis.MessageChannel = class extends MessageChannel {
    constructor() {
      super();
      others.set(this.port2, this.port1);
      held.ports.add(this.port1);
    }
  };
  MessagePort.prototype.close = function () {
    held.ports.delete(others.get(this) ?? this);
    close.call(this);
  };
  const { createObjectURL, revokeObjectURL } = URL;
  URL.createObjectURL = (what) => {
    const url = createObjectURL(what);
    held.urls.add(url);
    return url;
  };
  URL.revokeObjectURL = (url) => {
    held.urls.delete(url);
    revokeObjectURL(url);
  };
}

/** Opens, sorts, filters, searches and closes tables; every other one is larger than its memory. */
function useTables(page: Page, origin: string, from: number, to: number): Promise<string[]> {
  return page.evaluate(
    async ([address, first, last]) => {
      const wrong: string[] = [];
      for (let index = first; index < last; index++) {
        const viewer = document.createElement("colonnade-viewer");
        const isSmall = index % 2 === 0;
        const params = new URLSearchParams({
          offset: `${index}`,
          limit: isSmall ? "500" : "20000",
        });
        viewer.src = `${address}/v1/tables/lineitem/rows?${params}`;
        if (!isSmall) viewer.memory = "512KiB";
        const isArranged = new Promise((done) => {
          viewer.addEventListener("colonnade-filter", done, { once: true });
        });
        document.body.append(viewer);
        await (await viewer.ready).done;
        viewer.state = {
          sort: [{ column: "l_partkey", descending: true }],
          filter: { op: "ge", column: "l_quantity", value: "10" },
        };
        await isArranged;
        const { matches } = (await viewer.table?.find("a", { limit: 1 })) ?? { matches: [] };
        if (matches.length !== 1) wrong.push(`${index}: ${matches.length} matches`);
        viewer.remove();
      }
      return wrong;
    },
    [origin, from, to] as const,
  );
}

/** What the page and the server hold now. */
async function heldBy(page: Page, server: Server): Promise<Record<string, number>> {
  const inPage = await page.evaluate(() => ({
    ports: held.ports.size,
    urls: held.urls.size,
    elements: document.querySelectorAll("*").length,
  }));
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.enable");
  await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("Performance.enable");
  const { metrics } = await cdp.send("Performance.getMetrics");
  await cdp.detach();
  const listeners = metrics.find(({ name }) => name === "JSEventListeners")?.value ?? Number.NaN;
  const results = (await server.queries()).length;
  const running = await server.metric("colonnade_streams_running");
  const kept = await server.metric("colonnade_results_kept");
  return { ...inPage, workers: page.workers().length, listeners, results, running, kept };
}

/** An element has about a hundred listeners; the last one may still be referenced. */
const MAX_LISTENERS = 250;

/** What is held once timers have ended and garbage is collected, without the listeners, of which few are left. */
async function settled(page: Page, server: Server): Promise<Record<string, number>> {
  const numListeners = async () => (await heldBy(page, server)).listeners;
  await expect.poll(numListeners).toBeLessThan(MAX_LISTENERS);
  const { listeners, ...others } = await heldBy(page, server);
  return others;
}

test("two hundred tables leave behind what ten do", async ({ page, pages, server }) => {
  test.setTimeout(240_000);
  await page.addInitScript(countHeld);
  await page.goto(pages.origin);
  expect(await useTables(page, server.origin, 0, 10)).toEqual([]);
  await expect.poll(async () => (await server.queries()).length).toBe(0);
  const early = await settled(page, server);
  expect(await useTables(page, server.origin, 10, 200)).toEqual([]);
  await expect.poll(async () => (await server.queries()).length).toBe(0);
  expect(await settled(page, server)).toEqual(early);
  console.log(`held after 10 and after 200 tables: ${JSON.stringify(early)}`);
});

/** Opens a large table at a row while it streams. */
async function showStreaming(page: Page, pages: string, server: string): Promise<void> {
  const src = `${server}/v1/tables/lineitem/rows?columns=l_orderkey,l_comment`;
  await page.goto(`${pages}/?${new URLSearchParams({ src })}`);
  await expect(cell(page, 0, 1)).toBeVisible();
  await page.locator("colonnade-viewer").evaluate((viewer) => {
    (viewer as HTMLElementTagNameMap["colonnade-viewer"]).state = { row: 700 };
  });
  await expect(cell(page, 705, 1)).toBeVisible();
}

test("a page that was frozen goes on", async ({ page, pages, server }) => {
  await showStreaming(page, pages.origin, server.origin);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Page.setWebLifecycleState", { state: "frozen" });
  await cdp.send("Page.setWebLifecycleState", { state: "active" });
  await expect(status(page)).toContainText("Complete: 6,001,215 rows", { timeout: 60_000 });
  await expect(cell(page, 705, 1)).toBeVisible();
});

test("a page whose network or server was gone goes on", async ({ page, pages }) => {
  test.setTimeout(180_000);
  const port = await freePort();
  const args = ["--allow-origin", pages.origin];
  let server = await Server.start(args, port);
  try {
    await showStreaming(page, pages.origin, server.origin);
    await server.kill();
    await expect(status(page)).toContainText(/Connection lost/);
    server = await Server.start(args, port);
    await expect(status(page)).toContainText(/Streaming|Complete/, { timeout: 60_000 });
    await page.context().setOffline(true);
    await page.context().setOffline(false);
    await expect(status(page)).toContainText("Complete: 6,001,215 rows", { timeout: 90_000 });
    await expect(cell(page, 705, 1)).toBeVisible();
  } finally {
    await server.kill();
  }
});
