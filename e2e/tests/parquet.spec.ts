import { readdirSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";
import { FileHost } from "./file-host.js";
import { CuttingProxy } from "./proxy.js";
import { demoFile, Server, smallFile } from "./server.js";
import { test as base, cell, expect, goToRow, viewer } from "./viewer.js";

const COMPLETE = "Complete: 100,000 rows";

/** Tests with a host of files, whose origin is not the page's. No server of ours takes part. */
const test = base.extend<{ host: FileHost; open: (path: string) => Promise<void> }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  host: async ({}, use) => {
    const host = await FileHost.start({
      "/lineitem.parquet": demoFile("lineitem.parquet"),
      "/small.parquet": smallFile("lineitem"),
      "/small": smallFile("lineitem"),
    });
    await use(host);
    host.close();
  },
  open: async ({ page, pages, host }, use) => {
    await use(async (path) => {
      const src = `${host.origin}${path}`;
      await page.goto(`${pages.origin}/?${new URLSearchParams({ src })}`);
    });
  },
});

/** Rows of a table of a server: the texts of some columns. */
async function rowsOf(server: Server, table: string, first: number, limit: number) {
  const columns = "l_orderkey,l_partkey,l_comment";
  const address = `${server.origin}/v1/tables/${table}/rows?columns=${columns}&offset=${first}&limit=${limit}`;
  const rows = tableFromIPC(new Uint8Array(await (await fetch(address)).arrayBuffer()));
  return rows.toArray().map((row) => Object.values(row.toJSON()).map(String));
}

/** Some of the rows, a summary, and a search: of what the element shows, or of a table of a server. */
async function lookAt(address: string | null) {
  let rows: Shown;
  if (address === null) {
    rows = (document.querySelector("colonnade-viewer") as unknown as { view: Shown }).view;
  } else {
    const { open } = await import("/index.js" as string);
    // More rows than this are read when they are looked at, and the server computes with them.
    const table = await open(address, { memoryBytes: 16 * 1024 * 1024 });
    await table.done;
    rows = table;
  }
  const { numRows } = rows;
  const columns = ["l_orderkey", "l_linenumber", "l_quantity", "l_shipdate", "l_comment"];
  const starts = [0, Math.floor(numRows / 2), numRows - 100];
  const texts = await Promise.all(
    starts.map((start) => rows.text({ start, end: start + 100 }, columns)),
  );
  const { min, max, nulls, rows: counted } = await rows.summary("l_suppkey");
  const { matches } = await rows.find("pinto beans", { limit: 5, columns: ["l_comment"] });
  const found = matches.map(({ row }) => row);
  return { numRows, texts, summary: { min, max, nulls, counted }, found };
}

interface Shown {
  numRows: number;
  text(rows: object, columns: string[]): Promise<(string | null)[][]>;
  summary(column: string): Promise<Record<string, unknown>>;
  find(text: string, options: object): Promise<{ matches: { row: number }[] }>;
}

test("a large remote file: first rows and any row, of which only the pages are read", {
  tag: "@firefox",
}, async ({ page, open, host, demo }) => {
  await open("/lineitem.parquet");
  await expect(cell(page, 0, 1)).toHaveText("1");
  await expect(page.getByRole("status")).toContainText(
    "Windowed: rows load as you scroll, 6,001,215 rows",
  );
  expect(host.requests.slice(0, 2)).toEqual(["HEAD", expect.stringMatching(/^GET bytes=\d+-\d+$/)]);
  expect(host.numBytes).toBeLessThan(6_000_000);
  for (const row of [5_999_000, 2_500_000]) {
    await goToRow(page, row + 1);
    const [[key = "", part = ""] = []] = await rowsOf(demo, "lineitem", row, 1);
    await expect(cell(page, row, 1)).toHaveText(key);
    await expect(cell(page, row, 2)).toHaveText(part);
  }
  expect(host.numBytes).toBeLessThan(16_000_000);
  // What needs all rows says so. The driver scrolls in order to click, and the header follows a frame later; the first
  // column stays where it is.
  await page.getByRole("columnheader", { name: /l_orderkey/ }).click();
  await expect(page.getByRole("alert")).toContainText("Press Load all first, or filter the rows");
  await expect(page.getByRole("button", { name: "Load all (239 MB)" })).toBeVisible();
});

test("a large remote file is filtered, sorted, searched and summarised as by a server", async ({
  page,
  open,
  host,
  demo,
}) => {
  await open("/lineitem.parquet");
  await expect(cell(page, 0, 1)).toHaveText("1");
  const filter = {
    and: [
      { op: "eq", column: "l_quantity", value: 1 },
      { op: "contains", column: "l_comment", value: "regular" },
    ],
  };
  const sort = [{ column: "l_shipdate", descending: true }];
  const shown = () => page.evaluate(lookAt, null);
  const served = (query: string) =>
    page.evaluate(lookAt, `${demo.origin}/v1/tables/lineitem/rows?${query}`);
  /** Shows an arrangement; returns the bytes that the host has sent for that. */
  const arrange = async (state: object, status: string) => {
    const before = host.numBytes;
    await viewer(page).evaluate((element, state) => Object.assign(element, { state }), state);
    await expect(page.getByRole("status")).toContainText(status);
    await expect(page.getByRole("button", { name: "Cancel" })).toBeHidden();
    return host.numBytes - before;
  };
  const condition = "l_quantity = 1 and l_comment like '%regular%'";
  const query = `filter=${encodeURIComponent(condition)}`;
  await arrange({ filter }, "filtered by l_quantity, l_comment");
  await arrange({ filter, sort }, "sorted by l_shipdate descending");
  expect(await shown()).toEqual(await served(`${query}&sort=-l_shipdate`));
  await arrange({ filter: null, sort: [] }, "6,001,215 rows");
  await expect(cell(page, 0, 1)).toHaveText("1");
  // A filter reads its columns and then the rows that pass, not the file.
  const narrow = { op: "lt", column: "l_orderkey", value: 3000 };
  expect(await arrange({ filter: narrow }, "Complete: 3,0")).toBeLessThan(40_000_000);
});

test("the values of a large remote file are counted after a click", async ({
  page,
  open,
  host,
  demo,
}) => {
  await open("/lineitem.parquet");
  await expect(page.getByRole("status")).toContainText("Windowed");
  const columns = ["l_shipmode"];
  await viewer(page).evaluate((element, state) => Object.assign(element, state), { columns });
  await page.getByRole("columnheader", { name: /^l_shipmode/ }).click({ button: "right" });
  const count = page.getByRole("button", { name: "Count the values" });
  await expect(count).toBeVisible();
  const before = host.numBytes;
  await count.click();
  const values = page.getByRole("group", { name: "Checked values" }).locator("label");
  await expect(values).toHaveCount(7);
  expect(host.numBytes - before).toBeLessThan(20_000_000);
  const rows = await demo.answer(
    "select l_shipmode, count(*) from lineitem group by 1 order by 2 desc",
  );
  const texts = rows.map(([value, count]) => `${value}${Number(count).toLocaleString("en")}`);
  await expect(values).toHaveText(texts);
});

test("Load all reads every row, which can then be sorted", { tag: "@full" }, async ({
  page,
  open,
}) => {
  await open("/lineitem.parquet");
  await goToRow(page, 3_000_001);
  await page.getByRole("button", { name: "Load all (239 MB)" }).click();
  await expect(page.getByRole("status")).toContainText("Complete: 6,001,215 rows");
  await expect(cell(page, 3_000_000, 1)).not.toBeEmpty();
  await expect(page.getByRole("button", { name: /^Load all/ })).toBeHidden();
  await page.getByRole("columnheader", { name: /l_tax/ }).click();
  await expect(page.getByRole("columnheader", { name: /l_tax/ })).toHaveAttribute(
    "aria-sort",
    "ascending",
  );
});

test("a small remote file is read whole, also at an address that does not tell what it is", async ({
  page,
  open,
  host,
  small,
}) => {
  for (const path of ["/small.parquet", "/small"]) {
    await open(path);
    await expect(page.getByRole("status")).toContainText(COMPLETE);
    const [[, , comment = ""] = []] = await rowsOf(small, "lineitem", 99_999, 1);
    await goToRow(page, 100_000);
    await page.keyboard.press("End");
    await expect(cell(page, 99_999, 16)).toHaveText(comment);
  }
  // The address that tells it costs no request beyond those for parts.
  expect(host.requests.filter((request) => request === "GET")).toHaveLength(1);
});

test("a local file is read in the tab", { tag: "@firefox" }, async ({ page, pages, small }) => {
  await page.goto(pages.origin);
  await page.evaluate(() => {
    document.body.insertAdjacentHTML("beforeend", "<input type=file>");
  });
  await page.locator("input").setInputFiles(smallFile("lineitem"));
  await page.evaluate(() => {
    const [file] = document.querySelector("input")?.files ?? [];
    Object.assign(document.querySelector("colonnade-viewer") as object, { source: file });
  });
  await expect(page.getByRole("status")).toContainText(COMPLETE);
  const [[key = ""] = []] = await rowsOf(small, "lineitem", 77_777, 1);
  await goToRow(page, 77_778);
  await expect(cell(page, 77_777, 1)).toHaveText(key);
});

test("a file that is replaced while it is read is an error, and can be opened again", async ({
  page,
  open,
  host,
}) => {
  await open("/lineitem.parquet");
  await expect(cell(page, 0, 1)).toHaveText("1");
  host.etag = '"2"';
  await goToRow(page, 4_000_000);
  await expect(page.getByRole("alert")).toContainText("The file has changed since it was opened");
  await page.getByRole("alert").getByRole("button", { name: "Retry" }).click();
  await expect(page.getByRole("alert")).toBeHidden();
  await expect(cell(page, 3_999_999, 1)).not.toBeEmpty();
});

test("a reader that the browser ends is started again, with the files that are shown", async ({
  page,
  open,
  host,
}) => {
  await page.addInitScript(() => {
    const Original = Worker;
    const readers: Worker[] = [];
    globalThis.Worker = class extends Original {
      constructor(...options: ConstructorParameters<typeof Original>) {
        super(...options);
        if (options[1]?.name === "colonnade-reader") readers.push(this);
      }
    };
    Object.assign(globalThis, { readers });
  });
  await open("/lineitem.parquet");
  await expect(cell(page, 0, 1)).toHaveText("1");
  const endReader = () =>
    page.evaluate(() => {
      const { readers } = globalThis as unknown as { readers: Worker[] };
      readers.at(-1)?.terminate();
      return readers.length;
    });
  expect(await endReader()).toBe(1);
  await goToRow(page, 4_000_000);
  await expect(cell(page, 3_999_999, 1)).not.toBeEmpty();
  const opened = await page.evaluate(async (address) => {
    const { readers } = globalThis as unknown as { readers: Worker[] };
    const { open } = await import("/index.js" as string);
    const kept = await open(address);
    await kept.done;
    readers.at(-1)?.terminate();
    const other = await open(address);
    await other.done;
    const { state, error } = kept;
    const { numRows } = other;
    for (const table of [kept, other]) table.close();
    return { numRows, state, code: error?.code };
  }, `${host.origin}/small.parquet`);
  expect(opened).toEqual({ numRows: 100_000, state: "failed", code: "worker_lost" });
});

test("what is wrong with a host is said, with what it has to send", async ({
  page,
  open,
  host,
  pages,
}) => {
  const alert = page.getByRole("alert");
  await open("/nowhere.parquet");
  await expect(alert).toContainText("does not have the file");
  host.allowsPages = false;
  await open("/small.parquet");
  await expect(alert).toContainText(`Access-Control-Allow-Origin: ${pages.origin}`);
  host.allowsPages = true;
  host.status = 403;
  await open("/small.parquet");
  await expect(alert).toContainText("does not allow this page to read the file");
  host.status = undefined;
  host.sendsRanges = false;
  await open("/lineitem.parquet");
  await expect(alert).toContainText("Accept-Ranges: bytes");
  // A small file is read whole.
  await open("/small.parquet");
  await expect(page.getByRole("status")).toContainText(COMPLETE);
  await expect(page.getByText("read whole")).toBeVisible();
});

test("a slow network that is cut: no row is wrong or missing", { tag: "@firefox" }, async ({
  page,
  pages,
  host,
  small,
}) => {
  host.delayMs = 30;
  const proxy = await CuttingProxy.start(host.origin);
  try {
    const at = [700_000, 1_500_000, 2_600_000];
    proxy.cuts = at.map((at, index) => ({ at, by: index % 2 === 0 ? "reset" : "fin" }));
    const src = `${proxy.origin}/small.parquet`;
    await page.goto(`${pages.origin}/?${new URLSearchParams({ src })}`);
    await expect(page.getByRole("status")).toContainText(COMPLETE);
    expect(proxy.cuts).toEqual([]);
    const seen = await viewer(page).evaluate(async (element) => {
      const { table } = element as unknown as {
        table: { text(rows: object, columns: string[]): Promise<string[][]> };
      };
      const columns = ["l_orderkey", "l_partkey", "l_comment"];
      return table.text({ start: 0, end: 100_000 }, columns);
    });
    expect(seen).toEqual(await rowsOf(small, "lineitem", 0, 100_000));
  } finally {
    await proxy.close();
  }
});

const conformance = process.env.COLONNADE_CONFORMANCE;

/** Two texts of a GiB each, which no tab holds. */
const TOO_LARGE = "large_string_map.brotli.parquet";

test("the files of the format's own tests: the same in the tab and by the server", async ({
  page,
  pages,
}) => {
  test.skip(conformance === undefined, "COLONNADE_CONFORMANCE is not set");
  const folders = ["data", "bad_data"].map((name) => `${conformance}/parquet/${name}`);
  const files = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".parquet") && name !== TOO_LARGE)
      .map((name) => [name, `${folder}/${name}`] as const),
  );
  expect(files.length).toBeGreaterThan(30);
  const host = await FileHost.start(
    Object.fromEntries(files.map(([name, path]) => [`/${name}`, path])),
  );
  const server = await Server.start([...folders, "--allow-origin", pages.origin]);
  try {
    const { tables } = (await (await fetch(`${server.origin}/v1/tables`)).json()) as {
      tables: { name: string }[];
    };
    await page.goto(pages.origin);
    let numRead = 0;
    for (const [file] of files) {
      const name = file.replace(/(?:\.zstd)?\.parquet$/, "");
      const table = tables.find((table) => table.name === name)?.name;
      const [served, read] = await page.evaluate(
        async ([module, ...addresses]) => {
          const { open } = await import(module);
          const contents = async (address: string) => {
            try {
              const table = await open(address);
              await table.done;
              const { schema, numRows } = table;
              const texts = await table.text({ start: 0, end: Math.min(numRows, 20_000) });
              table.close();
              return JSON.stringify({ schema, numRows, texts });
            } catch {
              return undefined;
            }
          };
          return Promise.all(addresses.map(contents));
        },
        [
          `${pages.origin}/index.js`,
          `${server.origin}/v1/tables/${encodeURIComponent(table ?? name)}/rows`,
          `${host.origin}/${file}`,
        ] as const,
      );
      expect(read, file).toBe(served);
      if (read !== undefined) numRead++;
    }
    expect(numRead).toBeGreaterThan(30);
  } finally {
    await server.kill();
    host.close();
  }
});
