import { test as base, type Page } from "@playwright/test";
import { ReplayServer } from "../../web/test/replay.js";
import { cell, chromiumOnly, expect, goToRow } from "./fixtures.js";
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

test("a lost connection is shown in the status line without an alert, and the stream resumes", {
  tag: "@firefox",
}, async ({ page, server }) => {
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

test("rows that arrived before Cancel or a failure are sorted and filtered in the tab", async ({
  page,
  server,
}) => {
  const flip = { kind: "flip", at: 2000 } as const;
  for (const end of ["Cancelled", "Failed"]) {
    const isFailed = end === "Failed";
    const later = isFailed ? [flip, flip] : Array.from({ length: 50 }, () => REFUSAL);
    server.faults = [{ kind: "stall", at: 20_000 }, ...later];
    await page.goto(server.origin);
    await cutAfterRows(page, server, 140);
    if (!isFailed) await page.getByRole("button", { name: "Cancel" }).click();
    const numRows = isFailed ? 160 : 140;
    await expect(status(page)).toContainText(`${end}: ${numRows} rows`);
    await expect(page.getByRole("button", { name: "Cancel" })).toBeHidden();
    if (!isFailed) await expect.poll(() => server.seen.at(-1)?.method).toBe("DELETE");
    const numRequests = server.seen.length;
    const arrange = (state: object) =>
      page.locator("colonnade-viewer").evaluate((viewer, wanted) => {
        Object.assign(viewer, { state: wanted });
      }, state);
    await arrange({ sort: [{ column: "number", descending: true }] });
    await expect(cell(page, 0, 1)).toHaveText(String(numRows - 1));
    await arrange({ filter: { op: "lt", column: "number", value: 50 } });
    await expect(cell(page, 0, 1)).toHaveText("49");
    await expect(page.locator("[part=status]")).toContainText(`50 of ${numRows} rows that arrived`);
    await expect(page.locator("[part=status]")).toContainText(end);
    await arrange({ filter: { op: "lt", column: "number", value: -1 } });
    await expect(page.getByText("None of the rows that arrived matches the filter.")).toBeVisible();
    await arrange({ filter: { op: "lt", column: "number", value: 50 } });
    await expect(cell(page, 0, 1)).toHaveText("49");
    expect(server.seen.length).toBe(numRequests);
    server.faults = [];
    await page.getByRole("button", { name: isFailed ? "Retry" : "Load again" }).click();
    // The server, which here sends all rows unsorted, is asked to arrange those that arrive now.
    // The table's own rows are asked for at the same time, so either request may be the first.
    const asked = () => server.seen.slice(numRequests).map(({ body }) => body);
    await expect.poll(asked).toContainEqual(expect.stringMatching(/"descending":true.*"lt"/));
  }
});

test("a table that gave up its connection tries again when the browser is online or the page awake", async ({
  page,
  server,
}) => {
  // The table's side of the channel to its worker, which then can be told that it gave up.
  await page.addInitScript(() => {
    const Original = MessageChannel;
    globalThis.MessageChannel = class extends Original {
      constructor() {
        super();
        Object.assign(globalThis, { port: this.port1 });
      }
    };
  });
  server.faults = [{ kind: "stall", at: 20_000 }];
  await page.goto(server.origin);
  for (const [target, type] of [
    ["window", "online"],
    ["document", "resume"],
    ["document", "visibilitychange"],
  ] as const) {
    await expect(status(page)).toContainText("140");
    await page.evaluate(() => {
      const viewer = document.querySelector("colonnade-viewer") as unknown as {
        table: { progress: object };
      };
      const error = { code: "network_error", message: "The connection was lost." };
      const end = { ...viewer.table.progress, state: "failed", canResume: true, error };
      const data = { type: "notice", name: "end", data: end };
      const { port } = globalThis as unknown as { port: MessagePort };
      port.dispatchEvent(new MessageEvent("message", { data }));
    });
    await expect(page.getByRole("alert")).toContainText("The connection was lost.");
    await page.evaluate(
      ([where, event]) => {
        const at = where === "window" ? window : document;
        at.dispatchEvent(new Event(event));
      },
      [target, type] as const,
    );
    await expect(page.getByRole("alert")).toBeHidden();
  }
  server.cut();
  await expect(status(page)).toContainText("Complete: 300 rows");
});

test("a table whose worker the browser ended opens again in another one, as it was shown", async ({
  page,
  server,
}) => {
  await page.addInitScript(() => {
    const Original = Worker;
    const workers: Worker[] = [];
    globalThis.Worker = class extends Original {
      constructor(...options: ConstructorParameters<typeof Original>) {
        super(...options);
        workers.push(this);
      }
    };
    Object.assign(globalThis, { workers });
  });
  /** Ends the worker of the shown table, of which the page hears nothing. */
  const endWorker = () =>
    page.evaluate(() => {
      const { workers } = globalThis as unknown as { workers: Worker[] };
      workers.at(-1)?.terminate();
      return workers.length;
    });
  server.faults = [{ kind: "stall", at: 20_000 }];
  await page.goto(server.origin);
  await expect(status(page)).toContainText("140");
  // While rows arrive: the whole table is read again.
  expect(await endWorker()).toBe(1);
  await expect(status(page)).toContainText("Complete: 300 rows");
  expect(await page.evaluate(() => (globalThis as unknown as { workers: [] }).workers.length)).toBe(
    2,
  );
  // A second loss may be the fault of these rows: the user decides.
  await goToRow(page, 120);
  await endWorker();
  await expect(page.getByRole("alert")).toContainText("The browser ended the worker");
  await expect(page.getByRole("alert")).toContainText("worker_lost");
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(status(page)).toContainText("Complete: 300 rows");
  await expect(cell(page, 119, 1)).toHaveText("119");
});

test("open() and pending calls of a lost worker end, and the table opens in another one", async ({
  page,
  server,
}) => {
  await page.goto(server.origin);
  await expect(status(page)).toContainText("Complete: 300 rows");
  const outcome = await page.evaluate(async () => {
    const { open } = await import("/index.js" as string);
    const Original = Worker;
    const workers: Worker[] = [];
    const runs = new WeakMap<Worker, Promise<unknown>>();
    let isEnded = false;
    globalThis.Worker = class extends Original {
      constructor(...options: ConstructorParameters<typeof Original>) {
        super(...options);
        workers.push(this);
        const running = new Promise((resolve) => {
          this.addEventListener("message", resolve, { once: true });
        });
        runs.set(this, running);
      }
      override postMessage(...sent: unknown[]) {
        super.postMessage(...(sent as [unknown, Transferable[]]));
        // As soon as it runs and has to serve a table.
        if (isEnded && sent[0] instanceof MessagePort)
          void runs.get(this)?.then(() => this.terminate());
        isEnded = false;
      }
    };
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => "resolved",
        (error) => error.code,
      );
    const url = new URL("/v1/tables/numbered/rows", location.href).href;
    const table = await open(url);
    await table.done;
    // A job that takes longer than the worker lives.
    const pending = [table.find("no such text"), table.text({ start: 0, end: 300 })];
    workers.at(-1)?.terminate();
    const codes = await Promise.all(pending.map(code));
    const later = await code(table.text({ start: 0, end: 1 }));
    const { state, error } = table;
    isEnded = true;
    const again = await open(url);
    await again.done;
    const { numRows } = again;
    again.close();
    const body = new Response(await (await fetch(url)).arrayBuffer()).body;
    isEnded = true;
    const once = await code(open(body));
    return { codes, later, state, error: error?.code, numRows, numWorkers: workers.length, once };
  });
  expect(outcome).toMatchObject({ later: "worker_lost", state: "failed", error: "worker_lost" });
  for (const each of outcome.codes) expect(["resolved", "worker_lost"]).toContain(each);
  expect(outcome).toMatchObject({ numRows: 300, once: "worker_lost" });
});

test(
  "a page from the back/forward cache shows its table at the same row",
  chromiumOnly("Firefox's driver does not see documents from the cache"),
  async ({ page, server }) => {
    server.faults = [{ kind: "stall", at: 30_000 }];
    await page.goto(server.origin);
    await goToRow(page, 120);
    await expect(cell(page, 119, 1)).toHaveText("119");
    await page.goto("about:blank");
    await expect.poll(() => server.seen.at(-1)?.method).toBe("DELETE");
    await page.goBack({ waitUntil: "commit" });
    await expect(status(page)).toContainText("Complete: 300 rows");
    await expect(cell(page, 119, 1)).toHaveText("119");
    const ids = server.seen.filter(({ method }) => method === "GET").map(({ params }) => params.id);
    expect(new Set(ids).size).toBe(2);
  },
);
