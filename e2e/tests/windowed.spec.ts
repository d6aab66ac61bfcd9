import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { cell, chromiumOnly, expect, goToRow } from "./fixtures.js";
import { testOn } from "./other-origin.js";
import type { PageServer } from "./package.js";
import { CuttingProxy } from "./proxy.js";
import { demoFile, inCheckout, Server } from "./server.js";

/** A page with a viewer, and with a worker whose wasm memory can be measured. */
const PAGE = `<!doctype html><title>Windowed</title>
<script type="module">
import { open } from "/index.js";
import "/define.js";
window.openTable = open;
const parameters = new URLSearchParams(location.search);
const viewer = document.createElement("colonnade-viewer");
viewer.style.height = "400px";
for (const [name, value] of parameters) viewer.setAttribute(name, value);
const script = (text) => URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
const hook = script(\`const { instantiateStreaming } = WebAssembly;
WebAssembly.instantiateStreaming = async (...wasm) => {
  const made = await instantiateStreaming(...wasm);
  globalThis.wasmMemory = made.instance.exports.memory;
  return made;
};\`);
viewer.workerSrc = script(\`import "\${hook}"; import "\${location.origin}/worker.js";\`);
viewer.wasmSrc = "/colonnade.wasm";
document.body.append(viewer);
</script>`;

const MEMORY_BYTES = 64 * 2 ** 20;
const COLUMNS = "l_orderkey,l_linenumber,l_quantity,l_comment";
const LINEITEM_ROWS = 6_001_215;

interface PageTable {
  state: string;
  numRows: number;
  text(range: object, columns?: string[]): Promise<(string | null)[][]>;
  values(column: string, range: object): Promise<{ values: BigInt64Array }>;
  find(text: string, options: object): Promise<{ matches: { row: number }[]; next: number }>;
  summary(column: string): Promise<{ rows: number; max: string }>;
  sort(keys: object[]): Promise<unknown>;
}

declare global {
  var openTable: (src: string, options?: object) => Promise<PageTable & { done: Promise<void> }>;
  var wasmMemory: WebAssembly.Memory;
}

const test = testOn(PAGE);

async function show(page: Page, pages: PageServer, src: string, memory: string): Promise<void> {
  await page.goto(`${pages.origin}/?${new URLSearchParams({ src, memory })}`);
}

const state = (page: Page) =>
  page.locator("colonnade-viewer").evaluate((viewer) => {
    return (viewer as unknown as { table?: PageTable }).table?.state;
  });
const status = (page: Page) => page.getByRole("status");

test(
  "every row of a table larger than its memory budget can be read",
  chromiumOnly("measures the memory of a worker", "@full"),
  async ({ page, pages, server }) => {
    const src = `${server.origin}/v1/tables/lineitem/rows?columns=${COLUMNS}`;
    await show(page, pages, src, "64MiB");
    await expect.poll(() => state(page)).toBe("windowed");
    await expect(status(page)).toContainText("Windowed: rows load as you scroll, 6,001,215 rows");
    await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", `${LINEITEM_ROWS + 1}`);

    const different = await page.locator("colonnade-viewer").evaluate(async (viewer, from) => {
      const { table } = viewer as unknown as { table: PageTable };
      const whole = await globalThis.openTable(from, { memoryBytes: 2 ** 31 });
      await whole.done;
      if (whole.state !== "complete" || whole.numRows !== table.numRows) return "the rows";
      const stepRows = 250_000;
      for (let start = 0; start < whole.numRows; start += stepRows) {
        const range = { start, end: start + stepRows };
        const [got, wanted] = [table, whole].map((rows) => rows.values("l_orderkey", range));
        const { values } = (await got) as { values: BigInt64Array };
        const expected = ((await wanted) as { values: BigInt64Array }).values;
        const at = expected.findIndex((value, row) => value !== values[row]);
        if (at >= 0 || values.length !== expected.length) return `row ${start + at}`;
      }
      // Compare all columns of some rows, from the end to the start.
      for (let end = whole.numRows; end > 0; end -= 611_953) {
        const range = { start: Math.max(0, end - 300), end };
        const [got, wanted] = await Promise.all([table.text(range), whole.text(range)]);
        if (JSON.stringify(got) !== JSON.stringify(wanted)) return `rows before ${end}`;
      }
      return undefined;
    }, src);
    expect(different).toBeUndefined();

    const worker = page.workers()[0];
    const usedBytes = await worker?.evaluate(() => globalThis.wasmMemory.buffer.byteLength);
    expect(usedBytes).toBeGreaterThan(MEMORY_BYTES / 2);
    expect(usedBytes).toBeLessThan(MEMORY_BYTES * 1.5);

    await goToRow(page, LINEITEM_ROWS);
    await expect(cell(page, LINEITEM_ROWS - 1, 1)).toHaveText("6000000");
    await goToRow(page, 1);
    await expect(cell(page, 0, 1)).toHaveText("1");
  },
);

test("the server searches and summarises a windowed table, and sorting it is refused", async ({
  page,
  pages,
  server,
}) => {
  await show(page, pages, `${server.origin}/v1/tables/lineitem/rows?columns=${COLUMNS}`, "8MiB");
  await expect.poll(() => state(page)).toBe("windowed");
  const answers = await page.locator("colonnade-viewer").evaluate(async (viewer) => {
    const { table } = viewer as unknown as { table: PageTable };
    const { matches } = await table.find("pinto beans", { from: 5_000_000, limit: 1 });
    const row = matches[0]?.row ?? 0;
    const [texts] = await table.text({ start: row, end: row + 1 }, ["l_comment"]);
    const { rows, max } = await table.summary("l_orderkey");
    const sorted = table.sort([{ column: "l_orderkey" }]);
    const { code } = await sorted.then(
      () => ({ code: "" }),
      (error: { code: string }) => error,
    );
    return { text: texts?.[0], rows, max, code };
  });
  expect(answers.text).toContain("pinto beans");
  expect(answers).toMatchObject({ rows: LINEITEM_ROWS, max: "6000000", code: "windowed" });
});

test("rows of a filtered request are loaded on demand, and the total is found at the end", async ({
  page,
  pages,
  server,
}) => {
  const src = `${server.origin}/v1/tables/lineitem/rows?filter=l_linenumber%3D1`;
  await show(page, pages, src, "4MiB");
  await expect.poll(() => state(page)).toBe("windowed");
  await goToRow(page, 1_400_000);
  // In SQL: select l_orderkey from lineitem where l_linenumber = 1 limit 1 offset 1399999
  await expect(cell(page, 1_399_999, 4)).toHaveText("1");
  await expect(page.getByLabel("Go to row")).toBeVisible();
  await goToRow(page, 9_000_000);
  await expect(cell(page, 1_499_999, 1)).toHaveText("6000000");
  await expect(status(page)).toContainText("1,500,000 rows");
});

test("the status shows a lost connection, and rows load after the server restarts", {
  tag: "@firefox",
}, async ({ page, pages }) => {
  const options = ["--allow-origin", pages.origin];
  const server = await Server.start(options);
  const proxy = await CuttingProxy.start(server.origin);
  await show(page, pages, `${proxy.origin}/v1/tables/lineitem/rows`, "16MiB");
  await expect.poll(() => state(page)).toBe("windowed");
  await server.kill();
  await goToRow(page, 3_000_000);
  await expect(status(page)).toContainText("Connection lost at row");
  await expect(cell(page, 2_999_999, 1)).toHaveClass(/pending/);
  const again = await Server.start(options);
  proxy.target = again.origin;
  await expect(cell(page, 2_999_999, 1)).toHaveText(/^\d+$/);
  await expect(status(page)).toContainText("Windowed");
  await proxy.close();
  await again.kill();
});

test("rows of a changed source are not mixed with older rows; Retry opens the new source", async ({
  page,
  pages,
}) => {
  const folder = mkdtempSync(join(tmpdir(), "colonnade-windowed-"));
  const file = join(folder, "changing.parquet");
  copyFileSync(demoFile("lineitem.parquet"), file);
  const server = await Server.start([file, "--allow-origin", pages.origin]);
  await show(page, pages, `${server.origin}/v1/tables/changing/rows`, "16MiB");
  await expect.poll(() => state(page)).toBe("windowed");
  copyFileSync(demoFile("flights.parquet"), file);
  await goToRow(page, 3_000_000);
  await expect(page.getByRole("alert")).toContainText("source_changed");
  await expect(cell(page, 2_999_999, 1)).toHaveText("not loaded");
  await goToRow(page, 1);
  await expect(cell(page, 0, 1)).toHaveText("1");
  await goToRow(page, 3_000_000);
  await page.getByRole("alert").getByRole("button", { name: "Retry" }).click();
  await expect(page.getByRole("alert")).toBeHidden();
  await expect(page.getByRole("columnheader", { name: /origin/ })).toBeVisible();
  await server.kill();
  rmSync(folder, { recursive: true });
});

test("a file larger than the memory budget waits for the user's choice", async ({
  page,
  pages,
}) => {
  await page.goto(`${pages.origin}/?memory=1MiB`);
  const bytes = readFileSync(inCheckout("fixtures/numbered.arrows"));
  const give = (memory: string) =>
    page.locator("colonnade-viewer").evaluate(
      (viewer, { base64, budget }) => {
        viewer.setAttribute("memory", budget);
        const source = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
        Object.assign(viewer, { source: new Blob([source]) });
      },
      { base64: bytes.toString("base64"), budget: memory },
    );
  await give("6kB");
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("is full");
  await expect(status(page)).toContainText("Paused");
  await expect(cell(page, 1, 1)).toHaveText("1");
  await alert.getByRole("button", { name: /^Continue with/ }).click();
  await expect(alert).toContainText("is full");
  await alert.getByRole("button", { name: /^Continue with/ }).click();
  await expect(status(page)).toContainText("Complete: 300 rows");
  await expect(alert).toBeHidden();

  await give("5kB");
  await alert.getByRole("button", { name: "Keep these rows" }).click();
  await expect(status(page)).toContainText("Cancelled");
  await expect(cell(page, 1, 1)).toHaveText("1");
});
