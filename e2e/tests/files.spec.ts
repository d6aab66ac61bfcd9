import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import type { ColonnadeViewer } from "colonnade";
import { expectAccessible } from "./accessible.js";
import {
  test as base,
  cell,
  chooseTable,
  chromiumOnly,
  expect,
  openStartPage,
} from "./fixtures.js";
import { CuttingProxy, gate } from "./proxy.js";
import { hasPython } from "./readers.js";
import { Server } from "./server.js";
import {
  type FileContents,
  readTableFile,
  readTableFiles,
  writeTableFiles,
} from "./table-files.js";

const MAX_UPLOAD_BYTES = 16 * 2 ** 20;

interface Stage {
  folder: string;
  server: Server;
}

/** Tests with a server that accepts uploads and has one table of its own, and with files of all kinds. */
const test = base.extend<{ failOnPolicy: undefined }, { stage: Stage }>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "colonnade-files-"));
      if (hasPython) writeTableFiles(folder);
      const source = join(folder, "source.parquet");
      const options = ["--writable", "--max-upload", String(MAX_UPLOAD_BYTES)];
      const server = await Server.start(hasPython ? [source, ...options] : options);
      await use({ folder, server });
      await server.kill();
      rmSync(folder, { recursive: true });
    },
    { scope: "worker" },
  ],
  failOnPolicy: [
    async ({ page }, use) => {
      const violations: string[] = [];
      page.on("console", (message) => {
        if (message.text().includes("Content Security Policy")) violations.push(message.text());
      });
      await use(undefined);
      expect(violations).toEqual([]);
    },
    { auto: true },
  ],
});

test.skip(!hasPython, "pyarrow is not installed");

const inList = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Tables" }).getByRole("link", { name, exact: true });
const tray = (page: Page) => page.getByRole("region", { name: "Files" });
const row = (page: Page, name: string) => tray(page).getByRole("listitem", { name, exact: true });

/** Opens files with the keyboard. */
async function choose(page: Page, paths: string[]): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open files" }).press("Enter");
  await (await chooser).setFiles(paths);
}

/** Drags files or folders over the page and drops them. */
async function drop(page: Page, paths: string[], whileDragged: () => Promise<void>): Promise<void> {
  const client = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  const at = { x: 640, y: 500, data };
  for (const type of ["dragEnter", "dragOver"] as const) {
    await client.send("Input.dispatchDragEvent", { type, ...at });
  }
  await whileDragged();
  await client.send("Input.dispatchDragEvent", { type: "drop", ...at });
}

async function upload(page: Page, path: string, name: string): Promise<void> {
  await choose(page, [path]);
  const file = row(page, path.split("/").at(-1) ?? "");
  // It is open in the tab.
  if (path.endsWith(".parquet")) await file.getByRole("button", { name: "Upload" }).click();
  await file.getByRole("textbox").fill(name);
  await file.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText(`Table ${name}`);
}

async function tableNames({ origin }: Server): Promise<string[]> {
  const { tables } = (await (await fetch(`${origin}/v1/tables`)).json()) as {
    tables: { name: string }[];
  };
  return tables.map(({ name }) => name);
}

/** The rows of a request to the server, read without the page. */
async function rowsOf(stage: Stage, question: object): Promise<FileContents> {
  return readTableFile(await streamOf(stage, question, "asked.arrows"), "arrows");
}

/** Writes the stream of a request to a file; returns its path. */
async function streamOf({ server, folder }: Stage, question: object, name: string) {
  const response = await fetch(`${server.origin}/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify(question),
  });
  const path = join(folder, name);
  writeFileSync(path, Buffer.from(await response.arrayBuffer()));
  return path;
}

test(
  "Arrow files and streams open in the tab, and nothing is sent",
  chromiumOnly("speaks the DevTools protocol"),
  async ({ page, stage: { server, folder } }) => {
    await openStartPage(page, server.origin);
    await expect(inList(page, "source")).toBeVisible();
    const requested: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      const isAsset = request.method() === "GET" && /^\/(?:assets\/|icon\.svg$)/.test(pathname);
      const isList = request.method() === "GET" && pathname === "/v1/tables";
      if (!isAsset && !isList) requested.push(`${request.method()} ${request.url()}`);
    });
    for (const name of ["local.feather", "trips.parquet", "stream.bin"]) {
      await drop(page, [join(folder, name)], async () => {
        await expect(page.getByText("Drop files to open them")).toBeVisible();
      });
      await expect(page.getByText("Drop files to open them")).toBeHidden();
      await expect(page.getByRole("tab", { name })).toBeVisible();
      await expect(page.getByRole("status")).toContainText("Complete: 2,000 rows");
      await expect(cell(page, 1, 1)).toHaveText("9007199254740993");
      await expect(cell(page, 1, 2)).toHaveText('wörd, "1"');
      await expect(row(page, name)).toContainText("nothing was sent");
    }
    await row(page, "local.feather").getByRole("button", { name: "Show" }).click();
    await expect(page.getByRole("tab", { name: "local.feather" })).toBeVisible();
    expect(requested).toEqual([]);
    // The browser's Back button returns to the file that was open before.
    await page.goBack();
    await expect(page.getByRole("tab", { name: "stream.bin" })).toBeVisible();
    await page.getByRole("button", { name: "Export" }).click();
    await expect(page.getByRole("dialog", { name: "Export" })).toContainText("this tab only");
    await page.reload();
    await expect(tray(page)).toContainText("“stream.bin” was open in this tab before");
  },
);

for (const [file, rows, texts] of [
  ["trips.parquet", "2,000 rows", ["9007199254740993", 'wörd, "1"']],
  ["trips-2024.csv", "2,000 rows", ["9007199254740993", 'wörd, "1"']],
  ["packed.csv.gz", "2,000 rows", ["9007199254740993", 'wörd, "1"']],
  ["trips.ndjson", "2,000 rows", ["9007199254740993", 'wörd, "1"']],
  ["tabs.tsv", "2,000 rows", ["9007199254740993", "w1"]],
] as const) {
  test(`${file} is uploaded as a table and shown`, async ({ page, stage }) => {
    const { server, folder } = stage;
    await page.goto(server.origin);
    const name = `from ${file}`;
    await upload(page, join(folder, file), name);
    await expect(page).toHaveURL(/table=from/);
    await expect(page.getByRole("status")).toContainText(`Complete: ${rows}`);
    for (const [index, text] of texts.entries()) {
      await expect(cell(page, 1, index + 1)).toHaveText(text);
    }
    await expect(inList(page, name)).toHaveAttribute("aria-current", "page");
    const columns = ["id", "word"];
    const sent = await rowsOf(stage, { table: name, columns });
    const source = await rowsOf(stage, { table: "source", columns });
    const words = file === "tabs.tsv" ? source.rows.map(([id], n) => [id, `w${n}`]) : source.rows;
    expect(sent.rows).toEqual(words);
  });
}

test("several files are uploaded at once, each with its own entry", async ({ page, stage }) => {
  const { server, folder } = stage;
  await page.goto(server.origin);
  const files = ["tabs.tsv", "trips-2024.csv", "trips.ndjson", "page.html"];
  await choose(
    page,
    files.map((name) => join(folder, name)),
  );
  await expect(row(page, "page.html")).toContainText("Supported are Arrow");
  await expect(row(page, "trips.ndjson").getByRole("textbox")).toHaveValue("trips");
  await tray(page).getByRole("button", { name: "Upload all 3" }).click();
  for (const [file, name] of [
    ["tabs.tsv", "tabs"],
    ["trips-2024.csv", "trips_2024"],
    ["trips.ndjson", "trips"],
  ] as const) {
    await expect(row(page, file)).toContainText(`Table ${name}`);
    await row(page, file).getByRole("button", { name: "Show" }).click();
    await expect(page.getByRole("tab", { name, exact: true })).toBeVisible();
  }
  await tray(page).getByRole("button", { name: "Close the list of files" }).click();
  await expect(tray(page)).toBeHidden();
});

test(
  "an uploaded table is replaced only after confirmation, and the server's own tables never",
  chromiumOnly("Firefox's driver reports only the first file chooser"),
  async ({ page, stage }) => {
    const { server, folder } = stage;
    await page.goto(server.origin);
    await upload(page, join(folder, "trips-2024.csv"), "again");
    await tray(page).getByRole("button", { name: "Close the list of files" }).click();
    await choose(page, [join(folder, "tabs.tsv")]);
    const file = row(page, "tabs.tsv");
    await file.getByRole("textbox").fill("source");
    await expect(file).toContainText("The server has its own table with this name");
    await expect(file.getByRole("button", { name: "Upload" })).toHaveAttribute(
      "aria-disabled",
      "true",
    );
    await file.getByRole("textbox").fill("again");
    const replace = file.getByRole("button", { name: "Replace" });
    await replace.press("Enter");
    await expect(file.getByRole("checkbox")).toBeVisible();
    expect((await rowsOf(stage, { table: "again", limit: 1 })).rows[0]?.[1]).toBe(null);
    await file.getByRole("checkbox", { name: "Replace the uploaded table again" }).check();
    await replace.click();
    await expect(file).toContainText("Table again");
    expect((await rowsOf(stage, { table: "again", limit: 1 })).rows[0]?.[1]).toBe("w0");
    expect((await rowsOf(stage, { table: "source" })).rows).toHaveLength(2000);
  },
);

test("an upload shows its progress, and a cancelled upload leaves no table", async ({
  page,
  stage: { server, folder },
}) => {
  const proxy = await CuttingProxy.start(server.origin);
  await page.goto(proxy.origin);
  const fits = join(folder, "fits.csv");
  writeFileSync(fits, `a,b\n${"1234567890,1234567890\n".repeat(600_000)}`);
  await choose(page, [fits]);
  const file = row(page, "fits.csv");
  // The server gets only the first part of the upload: so little that the system has not enlarged the
  // buffers of the connection until they hold all of it.
  const { opened, open } = gate();
  proxy.requestHold = { at: 100_000, opened };
  await file.getByRole("button", { name: "Upload" }).click();
  const bar = file.getByRole("progressbar", { name: "Upload of fits.csv" });
  await expect(bar).toHaveAttribute("value", /^0\.\d*[1-9]/);
  await expect(file).toContainText(/[\d.]+ \w?B of 13 MB sent/);
  await file.getByRole("button", { name: "Cancel" }).click();
  await expect(file).toContainText("The server kept no part of the file");
  expect(await tableNames(server)).not.toContain("fits");
  proxy.requestHold = undefined;
  open();
  await file.getByRole("button", { name: "Upload again" }).click();
  await file.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText("Table fits");
  expect(await tableNames(server)).toContain("fits");
  await proxy.close();
});

test("refused uploads show the reason", async ({ page, stage: { server, folder } }) => {
  await page.goto(server.origin);
  await choose(page, [join(folder, "large.csv"), join(folder, "broken.csv")]);
  await expect(row(page, "large.csv")).toContainText(
    "The file has 20 MB; the server accepts at most 17 MB. Start the server with a larger --max-upload.",
  );
  const broken = row(page, "broken.csv");
  await broken.getByRole("button", { name: "Upload" }).click();
  await expect(broken).toContainText(/3002/);
  await expect(broken.getByRole("button", { name: "Try again" })).toBeVisible();
  expect(await tableNames(server)).not.toContain("broken");
  // The server's own errors are shown too, e.g. if its tables changed after the page read their list.
  for (const [status, code, detail] of [
    [409, "name_in_use", 'a source has the name "late"'],
    [413, "body_too_large", "an upload is at most 5 bytes"],
    [415, "unsupported_media_type", "the upload is not a kind of table that is read"],
    [422, "execution_error", "a value cannot be read"],
    [507, "storage_full", "the disk is full"],
  ] as const) {
    await page.route("**/v1/tables/late", (route) =>
      route.fulfill({
        status,
        contentType: "application/problem+json",
        body: JSON.stringify({ code, detail, hint: "do something else" }),
      }),
    );
    await broken.getByRole("button", { name: "Try again" }).click();
    await broken.getByRole("textbox").fill("late");
    await broken.getByRole("button", { name: "Upload" }).click();
    await expect(broken).toContainText(`${detail.slice(1)}. Do something else.`);
    await page.unroute("**/v1/tables/late");
  }
});

test(
  "folders and unsupported files are refused with a reason",
  chromiumOnly("speaks the DevTools protocol"),
  async ({ page, stage: { server, folder } }) => {
    await page.goto(server.origin);
    await expect(inList(page, "source")).toBeVisible();
    const lakes = {
      orders: ["_delta_log/00000000000000000000.json", "a Delta Lake table"],
      trips: ["metadata/v1.metadata.json", "an Apache Iceberg table"],
      notes: ["metadata/about.txt", "a folder"],
    };
    for (const [name, [log = ""]] of Object.entries(lakes)) {
      await mkdir(join(folder, name, dirname(log)), { recursive: true });
      await writeFile(join(folder, name, log), "{}");
    }
    const folders = Object.keys(lakes).map((name) => join(folder, name));
    await drop(page, [folder, ...folders, join(folder, "page.html")], async () => undefined);
    await expect(tray(page)).toContainText(/“colonnade-files-\w+” is a folder/);
    for (const [name, [, what]] of Object.entries(lakes)) {
      await expect(tray(page)).toContainText(`“${name}” is ${what}`);
    }
    await expect(row(page, "page.html")).toContainText("is not a supported file type");
    await row(page, "page.html").getByRole("button", { name: "Remove page.html" }).click();
    await expect(row(page, "page.html")).toBeHidden();
  },
);

test("a server that is not writable shows the command that allows uploads", async ({
  page,
  demo,
  stage,
}) => {
  await page.goto(demo.origin);
  await choose(page, [join(stage.folder, "trips.ndjson")]);
  await expect(row(page, "trips.ndjson")).toContainText("does not accept uploads");
  await expect(row(page, "trips.ndjson")).toContainText("colonnade serve --writable");
  await expect(row(page, "trips.ndjson").getByRole("button", { name: "Upload" })).toBeHidden();
});

test("an Arrow file can be uploaded, and an uploaded table can be removed", async ({
  page,
  stage: { server, folder },
}) => {
  await page.goto(server.origin);
  await choose(page, [join(folder, "local.feather")]);
  const file = row(page, "local.feather");
  await file.getByRole("button", { name: "Upload" }).click();
  await file.getByRole("textbox").fill("gone");
  await file.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText("Table gone, 2,000 rows");
  await expect(page.getByRole("button", { name: "Remove source" })).toBeHidden();
  const link = inList(page, "gone");
  await link.hover();
  await page.getByRole("button", { name: "Remove gone" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove gone" });
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await tableNames(server)).toContain("gone");
  await page.getByRole("button", { name: "Remove gone" }).press("Enter");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(link).toBeHidden();
  expect(await tableNames(server)).not.toContain("gone");
});

test("the dialog that removes a table keeps its table while new tables appear", async ({
  page,
  stage: { server, folder },
}) => {
  const put = (name: string) =>
    fetch(`${server.origin}/v1/tables/${name}`, {
      method: "PUT",
      headers: { "content-type": "text/csv" },
      body: readFileSync(join(folder, "trips-2024.csv")),
    });
  await put("kept_b");
  await page.goto(server.origin);
  await inList(page, "kept_b").hover();
  await page.getByRole("button", { name: "Remove kept_b" }).click();
  await put("kept_a");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect(page.locator("tables-list li", { hasText: "kept_a" })).toBeAttached();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toHaveAttribute("aria-label", "Remove kept_b");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(inList(page, "kept_b")).toBeHidden();
  expect(await tableNames(server)).toContain("kept_a");
});

/** Exports the shown rows; returns the path of the saved file and its suggested name. */
async function exported(page: Page, label: RegExp, folder: string) {
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("dialog", { name: "Export" }).getByRole("button", { name: label }).click();
  const saved = await download;
  const name = saved.suggestedFilename();
  const path = join(folder, `saved-${name}`);
  await saved.saveAs(path);
  return { name, path };
}

const FILTER = {
  and: [
    { op: "ge", column: "price", value: "500.00" },
    { op: "not_null", column: "word" },
  ],
};
const SORT = [{ column: "price", descending: true }];
const COLUMNS = ["word", "price", "id"];

/** Filters and sorts the shown rows, and chooses columns. */
async function arrange(viewer: Locator): Promise<void> {
  await viewer.evaluate(
    (element, state) => {
      (element as unknown as { state: object }).state = state;
    },
    { filter: FILTER, sort: SORT, columns: { shown: COLUMNS } },
  );
}

for (const [format, label] of [
  ["parquet", /^Parquet/],
  ["csv", /^CSV Text/],
  ["arrow", /^Arrow/],
  ["ndjson", /^NDJSON/],
] as const) {
  test(`the shown rows are exported as ${format}, with equal values`, {
    tag: format === "parquet" ? "@firefox" : [],
  }, async ({ page, stage }) => {
    const { server, folder } = stage;
    await page.goto(server.origin);
    await chooseTable(page, "source");
    await expect(page.getByRole("status")).toContainText("Complete: 2,000 rows");
    const whole = await exported(page, label, folder);
    expect(whole.name).toBe(`source.${format}`);
    await arrange(page.locator("colonnade-viewer"));
    await expect(page.getByRole("status")).toContainText("sorted by price");
    const part = await exported(page, label, folder);
    expect(part.name).toBe(`source-filtered.${format}`);
    const question = { table: "source", filter: FILTER, sort: SORT, columns: COLUMNS };
    const [all, wanted, filtered, shown] = readTableFiles([
      [whole.path, format],
      [await streamOf(stage, { table: "source" }, "all.arrows"), "arrows"],
      [part.path, format],
      [await streamOf(stage, question, "asked.arrows"), "arrows"],
    ]);
    if (format === "parquet" || format === "arrow") expect(all).toEqual(wanted);
    expect(all?.rows.map(([id, word, price]) => [id, word, price])).toEqual(
      wanted?.rows.map(([id, word, price]) => [id, word, price]),
    );
    expect(filtered?.rows).toEqual(shown?.rows);
    expect(shown?.rows.length).toBeGreaterThan(500);
    await expect(row(page, part.name)).toContainText("saved by the browser");
  });
}

/** Chooses CSV for Excel in most of Europe in the export's dialog, and closes it. */
async function chooseEuropeanExcel(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Export" }).click();
  const dialog = page.getByRole("dialog", { name: "Export" });
  await expect(dialog.getByLabel("Program")).toHaveValue("Most programs");
  await dialog.getByLabel("Program").selectOption("Excel in most of Europe");
  await expect(dialog.getByLabel("Delimiter")).toHaveValue(";");
  await expect(dialog.getByLabel("Decimal sign")).toHaveValue(",");
  await expect(dialog.getByLabel("Byte order mark")).toBeChecked();
  await page.keyboard.press("Escape");
}

test("the server writes CSV for Excel as the tab does", async ({ page, stage }) => {
  const { server, folder } = stage;
  await page.goto(`${server.origin}/?table=source`);
  await expect(page.getByRole("status")).toContainText("Complete: 2,000 rows");
  await chooseEuropeanExcel(page);
  const { path } = await exported(page, /^CSV Text/, folder);
  const expected = await page
    .locator("colonnade-viewer")
    .evaluate(async (element: ColonnadeViewer) => {
      const options = { delimiter: ";", decimal: ",", bom: true } as const;
      const file = await element.toBlob({ format: "csv", ...options });
      // `text()` would remove the byte order mark.
      return String.fromCharCode(...new Uint8Array(await file.slice(0, 20_000).arrayBuffer()));
    });
  expect(readFileSync(path).subarray(0, 20_000).toString("latin1")).toBe(expected);
});

test(
  "CSV for Excel is also written by the tab, and the choice is remembered",
  chromiumOnly("Firefox's driver does not report downloads of blobs"),
  async ({ page, stage: { server, folder } }) => {
    await page.goto(server.origin);
    await choose(page, [join(folder, "local.feather")]);
    await expect(page.getByRole("status")).toContainText("Complete: 2,000 rows");
    await chooseEuropeanExcel(page);
    await page.reload();
    await choose(page, [join(folder, "local.feather")]);
    await expect(page.getByRole("status")).toContainText("Complete: 2,000 rows");
    const { path } = await exported(page, /^CSV Text/, folder);
    const text = readFileSync(path, "utf8");
    expect(text.slice(0, 15)).toBe("\ufeffid;word;price;");
    expect(text.split("\n")[2]).toMatch(/^9007199254740993;"wörd, ""1""";\d+,\d\d;/);
    await page.getByRole("button", { name: "Export" }).click();
    const dialog = page.getByRole("dialog", { name: "Export" });
    await dialog.getByLabel("Delimiter").selectOption("Tab");
    await expect(dialog.getByLabel("Program")).toHaveValue("");
    await dialog.getByLabel("Program").selectOption("Most programs");
    await expect(dialog.getByLabel("Delimiter")).toHaveValue(",");
    await expect(dialog.getByLabel("Byte order mark")).not.toBeChecked();
    await expectAccessible(page);
  },
);

for (const [format, label] of [
  ["csv", /^CSV Text/],
  ["ndjson", /^NDJSON/],
  ["arrow", /^Arrow/],
] as const) {
  test(
    `rows that only the tab has are exported as ${format} by the tab`,
    chromiumOnly("Firefox's driver does not report downloads of blobs"),
    async ({ page, small, stage: { folder } }) => {
      const proxy = await CuttingProxy.start(small.origin);
      await page.goto(proxy.origin);
      await expect(inList(page, "flights")).toBeVisible();
      const { opened, open } = gate();
      // The first part of the rows arrives, until Cancel.
      proxy.cuts = [{ at: proxy.numBytes + 1_500_000, by: "hold", meanwhile: () => opened }];
      await chooseTable(page, "flights");
      await expect(page.getByRole("status")).toContainText("Streaming");
      await page.getByRole("button", { name: "Cancel" }).click();
      await expect(page.getByRole("status")).toContainText("Cancelled");
      const viewer = page.locator("colonnade-viewer");
      const columns = ["distance", "origin", "delay"];
      await viewer.evaluate((element: ColonnadeViewer, shown) => {
        element.state = {
          filter: { op: "ge", column: "delay", value: 30 },
          sort: [{ column: "delay", descending: true }],
          columns: { shown },
        };
      }, columns);
      await expect(page.getByRole("status")).toContainText("sorted by delay");
      await page.getByRole("button", { name: "Export" }).click();
      const dialog = page.getByRole("dialog", { name: "Export" });
      await expect(dialog).toContainText("The others did not arrive, so this tab writes the file.");
      await expect(dialog.getByRole("button", { name: /^Parquet/ })).toBeDisabled();
      await expect(dialog).toContainText("Only the server can write it");
      await page.keyboard.press("Escape");
      const part = await exported(page, label, folder);
      expect(part.name).toBe(`flights-filtered-partial.${format}`);
      const { shown, numKept } = await viewer.evaluate(
        async ({ view, table }: ColonnadeViewer, names) => {
          const range = { start: 0, end: view?.numRows ?? 0 };
          return { shown: await view?.text(range, names), numKept: table?.numRows };
        },
        columns,
      );
      expect(numKept).toBeLessThan(100_000);
      expect(shown?.length).toBeGreaterThan(50);
      expect(readTableFile(part.path, format).rows).toEqual(shown);
      await expect(row(page, part.name)).toContainText("saved by the browser");
      open();
      await proxy.close();
    },
  );
}

test("an export of a statement's rows continues while something else is shown", async ({
  page,
  stage,
}) => {
  const { server, folder } = stage;
  await page.goto(server.origin);
  const sql = "select id % 10 as d, count(*) as n, random() < 2 as yes from source group by 1";
  await page.getByRole("textbox", { name: "SQL" }).fill(sql);
  await page.getByRole("textbox", { name: "SQL" }).press("Control+Enter");
  await expect(page.getByRole("status")).toContainText("Complete: 10 rows");
  await page.getByRole("columnheader", { name: /^d\b/ }).click();
  await expect(page.getByRole("status")).toContainText("sorted by d");
  const { name, path } = await exported(page, /^Arrow/, folder);
  expect(name).toMatch(/^query-\d{8}-\d{6}\.arrow$/);
  await chooseTable(page, "source");
  const { rows } = readTableFile(path, "arrow");
  expect(rows).toEqual(Array.from({ length: 10 }, (_, d) => [String(d), "200", "True"]));
});

test("an export to Parquet names unsupported types before a file is saved", async ({
  page,
  demo,
}) => {
  await page.goto(demo.origin);
  await chooseTable(page, "every_type");
  await expect(page.getByRole("status")).toContainText("Complete: 24 rows");
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("button", { name: /^Parquet/ }).click();
  const file = row(page, "every_type.parquet");
  await expect(file).toContainText(/Column "?\w+/i);
  await expect(file.getByRole("button", { name: "Try again" })).toBeVisible();
});

test("an export shows its progress and can be cancelled", async ({ page, demo }) => {
  const proxy = await CuttingProxy.start(demo.origin);
  await page.goto(proxy.origin);
  await chooseTable(page, "flights");
  await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
  // The whole file has more than 100 MB, far more than the system's buffers of the held connection.
  const { opened, open } = gate();
  proxy.cuts = [{ at: proxy.numBytes + 4_000_000, by: "hold", meanwhile: () => opened }];
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: /^CSV Text/ }).click();
  const file = row(page, "flights.csv");
  await expect(file).toContainText(/[\d,]+ of 3,000,000 rows · [\d.]+ MB/);
  const bar = file.getByRole("progressbar", { name: "Export to flights.csv" });
  await expect.poll(async () => Number(await bar.getAttribute("value"))).toBeGreaterThan(0);
  await file.getByRole("button", { name: "Cancel" }).click();
  await expect(file).toContainText("Cancelled");
  open();
  expect(await (await download).failure()).not.toBeNull();
  await expectAccessible(page);
  await proxy.close();
});

test("the list of files, its menus and dialogs are accessible", async ({ page, stage }) => {
  const { server, folder } = stage;
  await page.goto(server.origin);
  const files = ["local.feather", "trips.ndjson", "page.html", "large.csv"];
  await choose(
    page,
    files.map((name) => join(folder, name)),
  );
  await expect(row(page, "large.csv")).toBeVisible();
  await row(page, "trips.ndjson").getByRole("textbox").fill("source");
  await expectAccessible(page);
  await chooseTable(page, "source");
  await expect(page.getByRole("status")).toContainText("Complete: 2,000 rows");
  await page.getByRole("button", { name: "Export" }).press("Enter");
  await expect(page.getByRole("button", { name: /^Parquet/ })).toBeFocused();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Copy as code" }).press("Enter");
  await expect(page.getByRole("dialog", { name: "Copy as code" })).toBeVisible();
  await expectAccessible(page);
});
