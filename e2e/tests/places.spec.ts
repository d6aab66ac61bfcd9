// The package under a policy without workers, as one file, and with reused workers.

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.js";
import { packageFile } from "./package.js";
import { inCheckout } from "./server.js";

const STRICT = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'";
const FILE = "/wire/wide_zstd.arrow";

// Firefox reports a worker that the policy refused as an error of the page.
test.use({ allowedErrors: /worker-src 'none'/ });

let server: Server | undefined;
const requestedPaths: string[] = [];

/** Serves and opens a page with the viewer, with the package and the fixtures. */
async function show(page: Page, script: string, policy: string): Promise<void> {
  const html = `<!doctype html><title>Page</title><script type="module" src="/${script}"></script>
    <colonnade-viewer src="${FILE}"></colonnade-viewer>`;
  requestedPaths.length = 0;
  server = createServer((request, response) => {
    const path = request.url ?? "/";
    requestedPaths.push(path);
    const file = path.startsWith("/wire/")
      ? { type: "application/octet-stream", bytes: readFileSync(inCheckout(`fixtures${path}`)) }
      : packageFile(path, html);
    if (file === undefined) return response.writeHead(404).end();
    const headers = { "content-type": file.type, "content-security-policy": policy };
    response.writeHead(200, headers).end(file.bytes);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

test.afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** Expects the number of rows, the first row, and rows that are filtered and sorted. */
async function expectRows(page: Page, script: string): Promise<void> {
  await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "5001");
  await expect(page.getByRole("gridcell", { name: "row 0", exact: true })).toBeVisible();
  const rows = await page.evaluate(
    async ([script, file]) => {
      const { open } = await import(script as string);
      const bytes = await (await fetch(file as string)).arrayBuffer();
      const table = await open(bytes);
      await table.done;
      const view = await table.filter({ op: "ge", column: "n", value: "14990" });
      const sorted = await view.sort([{ column: "n", descending: true }]);
      const rows = await sorted.text({ start: 0, end: sorted.numRows });
      table.close();
      return rows;
    },
    [`/${script}`, FILE],
  );
  expect(rows).toEqual([
    ["14997", "row 4999"],
    ["14994", "row 4998"],
    ["14991", "row 4997"],
  ]);
}

for (const workers of ["'self'", "'none'"]) {
  test(`worker-src ${workers}: the same rows`, { tag: "@firefox" }, async ({ page }) => {
    const words: string[] = [];
    page.on("console", (message) => words.push(message.text()));
    await show(page, "define.js", `${STRICT}; worker-src ${workers}`);
    await expectRows(page, "index.js");
    // The page reports its thread before the rows of the table.
    const isHere = () => words.some((text) => text.includes("on the page's thread"));
    await expect.poll(isHere).toBe(workers === "'none'");
  });
}

test("the one-file bundle loads no other file", async ({ page }) => {
  await show(page, "inline.js", "default-src 'self' blob: 'unsafe-inline' 'wasm-unsafe-eval'");
  await expectRows(page, "inline.js");
  await expect.poll(() => page.workers().length).toBeGreaterThan(0);
  const others = requestedPaths.filter(
    (path) => !["/", "/inline.js", FILE, "/favicon.ico"].includes(path),
  );
  expect(others).toEqual([]);
});

test("the one-file bundle works without workers", async ({ page }) => {
  await show(page, "inline.js", `${STRICT}; worker-src 'none'`);
  await expectRows(page, "inline.js");
});

test("a table reuses the worker of a closed table and never reads its rows", async ({ page }) => {
  await show(page, "index.js", `${STRICT}; worker-src 'self'`);
  const lastTexts = await page.evaluate(async (file) => {
    const { open } = await import("/index.js" as string);
    const bytes = await (await fetch(file)).arrayBuffer();
    const last = async (table: Awaited<ReturnType<typeof open>>) => {
      await table.done;
      return (await table.text({ start: table.numRows - 1, end: table.numRows }))[0][1];
    };
    const first = await open(bytes.slice(0));
    const texts = [await last(first)];
    // A sort that runs when its table is closed must not affect the next table.
    const lost = first.sort([{ column: "n" }]).catch((error: { code: string }) => error.code);
    first.close();
    first.close();
    texts.push(await lost);
    const second = await open(bytes.slice(0));
    const third = await open(bytes.slice(0));
    texts.push(await last(third), await last(second));
    second.close();
    third.close();
    return texts;
  }, FILE);
  expect(lastTexts).toEqual(["row 4999", "closed", "row 4999", "row 4999"]);
  // Of the two workers, one is kept for reuse.
  await expect.poll(() => page.workers().length).toBe(1);
});
