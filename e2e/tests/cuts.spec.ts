import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base, type Page } from "@playwright/test";
import type { Table } from "colonnade";
import type { ColonnadeViewer } from "colonnade/define";
import { seededRandom } from "../../web/test/random.js";
import { writeColours } from "./colours.js";
import { expect } from "./fixtures.js";
import { PageServer } from "./package.js";
import { CuttingProxy } from "./proxy.js";
import { SEED } from "./seed.js";
import { demoFile, Server } from "./server.js";

// Connections between the viewer and the server that break, and servers that are killed.

const NUM_CUTS = 6;
/** Batches of the file `colours`, of 20,000 rows each. */
const NUM_BATCHES = 6;

const COLUMNS = "l_orderkey,l_quantity,l_shipdate,l_comment";
const SORT = "-l_extendedprice,l_comment";
const NESTED =
  "select l_orderkey, named_struct('price', l_extendedprice, 'dates', make_array(l_shipdate, l_receiptdate)) as of, " +
  "arrow_cast(l_shipmode, 'Dictionary(Int32, Utf8)') as mode, arrow_cast(l_comment, 'Dictionary(Int32, Utf8)') as said " +
  "from lineitem limit 60000";

const RESULTS: Record<string, string | { sql: string }> = {
  "a table": `/v1/tables/lineitem/rows?columns=${COLUMNS}&offset=1000&limit=100000`,
  "a sorted table": `/v1/tables/lineitem/rows?columns=${COLUMNS},l_extendedprice&sort=${SORT}&filter=l_orderkey<400000&limit=100000`,
  "dictionaries and nested values of a file": "/v1/tables/colours/rows",
  "dictionaries and nested values of a statement": { sql: NESTED },
};

interface Stage {
  page: PageServer;
  folder: string;
  colours: string;
}

const test = base.extend<object, { stage: Stage }>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const page = new PageServer(
        `<!doctype html><title>Cuts</title><script type="module" src="/define.js"></script>
        <colonnade-viewer style="height: 400px"></colonnade-viewer>`,
      );
      await page.listen();
      const folder = mkdtempSync(join(tmpdir(), "colonnade-"));
      const colours = join(folder, "colours.arrow");
      writeColours(colours, NUM_BATCHES);
      await use({ page, folder, colours });
      page.close();
      rmSync(folder, { recursive: true });
    },
    { scope: "worker" },
  ],
});

/** Starts a server of the demo table `lineitem` and of the file `colours`. */
function serve({ page, folder, colours }: Stage, data: string): Promise<Server> {
  const args = ["--allow-origin", page.origin, "--data-dir", join(folder, data)];
  return Server.start([
    `lineitem=${demoFile("lineitem.parquet")}`,
    ...[`colours=${colours}`, ...args],
  ]);
}

/** A request for a result's rows, as a value that can be passed to the page. */
interface RowsRequest {
  url: string;
  body: string | null;
}

function rowsRequestOf(origin: string, result: string | { sql: string }): RowsRequest {
  return typeof result === "string"
    ? { url: origin + result, body: null }
    : { url: `${origin}/v1/query`, body: JSON.stringify(result) };
}

/** Defines the functions and variables in the page that the tests use. */
async function prepare(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await customElements.whenDefined("colonnade-viewer");
    const entry = "/index.js";
    const { open } = (await import(entry)) as typeof import("colonnade");
    const requestOf = ({ url, body }: { url: string; body: string | null }) => {
      const headers = { "content-type": "application/json" };
      return body === null ? url : new Request(url, { method: "POST", headers, body });
    };
    /** The number of rows and a hash of all texts. */
    const digest = async (table: Table) => {
      let hash = new Uint8Array();
      for (let start = 0; start < table.numRows; start += 5000) {
        const end = Math.min(start + 5000, table.numRows);
        const texts = new TextEncoder().encode(JSON.stringify(await table.text({ start, end })));
        const joined = new Uint8Array(hash.length + texts.length);
        joined.set(hash);
        joined.set(texts, hash.length);
        hash = new Uint8Array(await crypto.subtle.digest("SHA-256", joined));
      }
      return `${table.numRows} ${Array.from(hash, (byte) => byte.toString(16)).join(" ")}`;
    };
    const viewer = document.querySelector("colonnade-viewer") as ColonnadeViewer;
    /** The texts of all alerts. */
    const alerts: string[] = [];
    const listen = () => {
      for (const alert of viewer.shadowRoot?.querySelectorAll("[role=alert]") ?? []) {
        const text = alert.textContent?.trim() ?? "";
        if (alerts.at(-1) !== text) alerts.push(text);
      }
    };
    if (viewer.shadowRoot === null) throw new Error("the element has no shadow root");
    const options = { childList: true, characterData: true, subtree: true };
    new MutationObserver(listen).observe(viewer.shadowRoot, options);
    Object.assign(globalThis, { open, requestOf, digest, viewer, alerts });
  });
}

declare const open: typeof import("colonnade").open;
declare const requestOf: (rowsRequest: RowsRequest) => string | Request;
declare const digest: (table: Table) => Promise<string>;
declare const viewer: ColonnadeViewer;
declare const alerts: string[];

/** Reads a result without cuts; returns a digest of its rows and the number of bytes received. */
function readUncut(
  page: Page,
  rowsRequest: RowsRequest,
): Promise<{ rows: string; numBytes: number }> {
  return page.evaluate(async (rowsRequest) => {
    const table = await open(requestOf(rowsRequest));
    await table.done;
    const rows = await digest(table);
    const numBytes = table.progress.bytes;
    table.close();
    return { rows, numBytes };
  }, rowsRequest);
}

function show(page: Page, rowsRequest: RowsRequest): Promise<void> {
  return page.evaluate((rowsRequest) => {
    viewer.source = requestOf(rowsRequest);
  }, rowsRequest);
}

/** Waits for the first rows, because a reset discards data that the page has not read. */
async function rowsArrive(page: Page): Promise<void> {
  const count = () => page.evaluate(async () => (await viewer.ready).numRows);
  await expect.poll(count).toBeGreaterThan(0);
}

/** Waits until the viewer's table is complete; returns a digest of its rows. */
function readShown(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const table = await viewer.ready;
    await table.done;
    if (table.state !== "complete") throw new Error(`the table is ${table.state}`);
    return digest(table);
  });
}

/** Checks that there was no alert. An interruption may be shorter than a frame, so its text need not have been there. */
async function expectCalm(page: Page): Promise<void> {
  expect(await page.evaluate(() => alerts)).toEqual([]);
}

for (const [name, result] of Object.entries(RESULTS)) {
  test(`${name}: every row arrives once although the connection breaks`, async ({
    page,
    stage,
  }) => {
    console.log(`COLONNADE_SEED=${SEED}`);
    const random = seededRandom(SEED);
    const server = await serve(stage, "cuts");
    const proxy = await CuttingProxy.start(server.origin);
    try {
      await page.goto(stage.page.origin);
      await prepare(page);
      const uncut = await readUncut(page, rowsRequestOf(server.origin, result));
      const cutOffsets = Array.from({ length: NUM_CUTS }, () =>
        Math.floor(random() * 0.9 * uncut.numBytes),
      );
      proxy.cuts = cutOffsets
        .sort((a, b) => a - b)
        .map((at) => ({ at, by: random() < 0.5 ? "fin" : "reset" }));
      await show(page, rowsRequestOf(proxy.origin, result));
      expect(await readShown(page)).toBe(uncut.rows);
      expect(proxy.cuts).toEqual([]);
      await expectCalm(page);
    } finally {
      await proxy.close();
      await server.kill();
    }
  });

  test(`${name}: every row arrives once although the server is killed twice`, async ({
    page,
    stage,
  }) => {
    console.log(`COLONNADE_SEED=${SEED}`);
    const random = seededRandom(SEED);
    let server = await serve(stage, "deaths");
    const proxy = await CuttingProxy.start(server.origin);
    try {
      await page.goto(stage.page.origin);
      await prepare(page);
      const uncut = await readUncut(page, rowsRequestOf(server.origin, result));
      const die = async () => {
        await server.kill();
      };
      proxy.cuts = [0, 0.5].map((start) => ({
        at: Math.floor((start + random() * 0.4) * uncut.numBytes),
        by: "reset",
        meanwhile: die,
      }));
      await show(page, rowsRequestOf(proxy.origin, result));
      for (let deaths = 1; deaths <= 2; deaths++) {
        const before = proxy.numRefused;
        await expect.poll(() => proxy.cuts.length, { timeout: 90_000 }).toBe(2 - deaths);
        await expect.poll(() => proxy.numRefused).toBeGreaterThan(before);
        server = await serve(stage, "deaths");
        proxy.target = server.origin;
      }
      expect(await readShown(page)).toBe(uncut.rows);
      await expectCalm(page);
    } finally {
      await proxy.close();
      await server.kill();
    }
  });
}

test("a file that is replaced while it streams: the rows stay, and the alert says why no more arrive", async ({
  page,
  stage,
}) => {
  // The file is larger than all buffers of a connection, so the server cannot have read all of it.
  const numBatches = 40;
  writeColours(stage.colours, numBatches);
  const other = join(stage.folder, "other");
  writeColours(other, numBatches, 1);
  const server = await serve(stage, "replaced");
  const proxy = await CuttingProxy.start(server.origin);
  try {
    await page.goto(stage.page.origin);
    await prepare(page);
    const replace = async () => {
      await rowsArrive(page);
      renameSync(other, stage.colours);
    };
    proxy.cuts = [{ at: 4_000_000, by: "fin", meanwhile: replace }];
    await show(page, rowsRequestOf(proxy.origin, "/v1/tables/colours/rows"));
    await expect(page.getByRole("alert")).toContainText("changed");
    await expect(page.getByRole("alert")).toContainText("source_changed");
    const [state, numRows, texts] = await page.evaluate(async () => {
      const table = await viewer.ready;
      return [table.state, table.numRows, await table.text({ start: 0, end: 2 }, ["n"])] as const;
    });
    expect(state).toBe("failed");
    expect(numRows).toBeGreaterThan(0);
    expect(numRows).toBeLessThan(numBatches * 20_000);
    expect(texts).toEqual([["0"], ["1"]]);
  } finally {
    writeColours(stage.colours, NUM_BATCHES);
    await proxy.close();
    await server.kill();
  }
});

test("a deleted query ends with an alert that says so, and is not run again", async ({
  page,
  stage,
}) => {
  const server = await serve(stage, "deleted");
  const proxy = await CuttingProxy.start(server.origin);
  try {
    await page.goto(stage.page.origin);
    await prepare(page);
    const deleteAll = async () => {
      await rowsArrive(page);
      for (const { id } of await server.queries()) {
        await fetch(`${server.origin}/v1/query/${id}`, { method: "DELETE" });
      }
    };
    proxy.cuts = [{ at: 4_000_000, by: "reset", meanwhile: deleteAll }];
    await show(page, rowsRequestOf(proxy.origin, "/v1/tables/lineitem/rows"));
    await expect(page.getByRole("alert")).toContainText("was deleted");
    const state = await page.evaluate(async () => (await viewer.ready).state);
    expect(state).toBe("failed");
    await expect.poll(() => server.queries()).toEqual([]);
  } finally {
    await proxy.close();
    await server.kill();
  }
});
