import { test as base, type Page } from "@playwright/test";
import { ReplayServer } from "../../web/test/replay.js";
import { chromiumAlone, NO_CACHED_PAGE } from "./engines.js";
import { cell, expect, goBack, goToRow } from "./fixtures.js";
import { packageFile } from "./package.js";

const PAGE = `<!doctype html><title>Resume</title><script type="module" src="/define.js"></script>
<colonnade-viewer style="height: 400px" src="/v1/tables/numbered/rows"></colonnade-viewer>`;

/** Tests with a page of a server that fails as `server.faults` says. */
const test = base.extend<{ server: ReplayServer }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  server: async ({}, use) => {
    const server = new ReplayServer();
    server.file = (path) => packageFile(path, PAGE);
    await server.listen();
    await use(server);
    await server.close();
  },
});

// A test below needs the browser's back/forward cache, which Playwright disables.
test.use({
  launchOptions: async ({ launchOptions }, use) => {
    await use({ ...launchOptions, ignoreDefaultArgs: ["--disable-back-forward-cache"] });
  },
});

/** Waits until the viewer has the rows of a stalled response, then breaks the connection. */
async function cutAfterRows(page: Page, server: ReplayServer, numRows: number): Promise<void> {
  const rows = () =>
    page.locator("colonnade-viewer").evaluate((viewer) => {
      return (viewer as unknown as { table?: { numRows: number } }).table?.numRows;
    });
  await expect.poll(rows).toBe(numRows);
  server.cut();
}

const REFUSAL = { kind: "refuse", status: 503, code: "busy" } as const;
const status = (page: Page) => page.getByRole("status");

test("a lost connection is shown in the status line without an alert, and the stream resumes", async ({
  page,
  server,
}) => {
  server.faults = [{ kind: "stall", at: 20_000 }, ...Array.from({ length: 50 }, () => REFUSAL)];
  await page.goto(server.origin);
  await cutAfterRows(page, server, 140);
  await expect(status(page)).toHaveText("Connection lost at row 141. Resuming…");
  await expect(page.getByRole("alert")).toBeHidden();
  await expect(page.getByRole("progressbar")).toBeVisible();
  await expect(cell(page, 0, 1)).toHaveText("0");
  server.faults = [];
  await expect(status(page)).toContainText("Complete: 300 rows");
  await goToRow(page, 300);
  await expect(cell(page, 299, 1)).toHaveText("299");
});

test("Retry resumes from the row after a failure", async ({ page, server }) => {
  const flip = { kind: "flip", at: 2000 } as const;
  server.faults = [{ kind: "stall", at: 20_000 }, flip, flip];
  await page.goto(server.origin);
  await cutAfterRows(page, server, 140);
  await expect(page.getByRole("alert")).toContainText("is damaged");
  await expect(cell(page, 0, 1)).toHaveText("0");
  const numRequests = server.seen.length;
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(status(page)).toContainText("Complete: 300 rows");
  await expect(page.getByRole("alert")).toBeHidden();
  const [again] = server.seen.slice(numRequests);
  expect(Number(again?.params.offset)).toBeGreaterThan(0);
});

test("Cancel ends the retries, and deletes the result at the server", async ({ page, server }) => {
  server.faults = [{ kind: "stall", at: 20_000 }, ...Array.from({ length: 50 }, () => REFUSAL)];
  await page.goto(server.origin);
  await cutAfterRows(page, server, 140);
  await expect(status(page)).toContainText("Connection lost");
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(status(page)).toContainText("Cancelled: 140 rows");
  await expect.poll(() => server.seen.at(-1)?.method).toBe("DELETE");
  const id = server.seen[0]?.params.id;
  expect(server.seen.at(-1)?.path).toBe(`/v1/query/${id}`);
});

test("a page from the back/forward cache shows its table at the same row", async ({
  page,
  server,
}) => {
  chromiumAlone(NO_CACHED_PAGE);
  server.faults = [{ kind: "stall", at: 30_000 }];
  await page.goto(server.origin);
  await goToRow(page, 120);
  await expect(cell(page, 119, 1)).toHaveText("119");
  await page.goto("about:blank");
  await expect.poll(() => server.seen.at(-1)?.method).toBe("DELETE");
  await goBack(page);
  await expect(status(page)).toContainText("Complete: 300 rows");
  await expect(cell(page, 119, 1)).toHaveText("119");
  const ids = server.seen.filter(({ method }) => method === "GET").map(({ params }) => params.id);
  expect(new Set(ids).size).toBe(2);
});
