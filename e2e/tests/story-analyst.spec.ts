// What an analyst does with a folder of German files, without SQL, each in at most six actions.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Locator, Page } from "@playwright/test";
import type { ColonnadeViewer } from "colonnade";
import { header, status } from "./columns.js";
import { test as base, cell, chooseTable, doubleClick, expect } from "./fixtures.js";
import { Server } from "./server.js";

const MAX_ACTIONS = 6;
const NAMES = ["Datum", "Kunde", "Kategorie", "Betrag", "E-Mail", "Notiz"];
const TABLE = "umsatz_2025_q1";

interface Sale {
  date: Date;
  customer: number;
  category: string | null;
  cents: number;
  email: string | null;
  note: string;
}

/** The sales of a quarter, counted from 0. */
function salesOf(quarter: number): Sale[] {
  const categories = ["Hardware", "Hardware", "Hardware", "Hardware", "Software", "Software"];
  const others = ["Software", "Beratung", "Beratung", null];
  return Array.from({ length: 240 }, (_, index) => {
    const customer = 1001 + ((index * 5) % 12);
    const emails: Record<number, string | null> = { 0: null, 3: "" };
    const email = emails[index % 7];
    return {
      date: new Date(Date.UTC(2025, quarter * 3, 1 + (index % 88))),
      customer,
      category: [...categories, ...others][index % 10] ?? null,
      cents: ((index * 791_933 + quarter) % 500_000) - 20_000,
      email: email === undefined ? `kunde${customer}@firma.de` : email,
      note: index % 40 === 17 ? `Reklamation Nr. ${index}` : `Auftrag ${index}`,
    };
  });
}

const isoDay = (date: Date) => date.toISOString().slice(0, 10);
const germanDay = (date: Date) => isoDay(date).split("-").reverse().join(".");

/** An amount as it is written in Germany. */
function germanAmount(cents: number, hasThousands: boolean): string {
  const [whole = "", part = ""] = (Math.abs(cents) / 100).toFixed(2).split(".");
  const grouped = hasThousands ? whole.replace(/(?=(?:\d{3})+$)\B/g, ".") : whole;
  return `${cents < 0 ? "-" : ""}${grouped},${part}`;
}

function csvOf(sales: readonly Sale[]): string {
  const lines = sales.map(({ date, customer, category, cents, email, note }) =>
    [
      germanDay(date),
      customer,
      category ?? "",
      germanAmount(cents, true),
      email === "" ? '""' : (email ?? ""),
      note,
    ].join(";"),
  );
  return `${NAMES.join(";")}\n${lines.join("\n")}\n`;
}

/** The texts of the cells of a sale. */
function cellsOf({ date, customer, category, cents, email, note }: Sale): (string | null)[] {
  return [isoDay(date), String(customer), category, (cents / 100).toFixed(2), email, note];
}

const SALES = salesOf(0);
const KINDS = [
  { user: { name: "Ann", tags: ["neu"] } },
  { user: { name: "Bob" }, code: 7 },
  "Neustart",
  42,
  { user: "System" },
  null,
];
const EVENTS = KINDS.map((payload, index) => ({ id: index + 1, payload }));
const nameIn = (payload: unknown) =>
  (payload as { user?: { name?: string } } | null)?.user?.name ?? null;

const test = base.extend<{ folder: string; server: Server }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "colonnade-analyst-"));
    for (const quarter of [0, 1, 2]) {
      await writeFile(join(folder, `umsatz_2025_q${quarter + 1}.csv`), csvOf(salesOf(quarter)));
    }
    const events = EVENTS.map((event) => `${JSON.stringify(event)}\n`);
    await writeFile(join(folder, "ereignisse.ndjson"), events.join(""));
    await writeFile(join(folder, "planung.xlsx"), "PK\x03\x04");
    await writeFile(join(folder, "archiv.csv.gz"), gzipSync(csvOf(salesOf(3))));
    await use(folder);
    await rm(folder, { recursive: true });
  },
  server: async ({ folder }, use) => {
    const server = await Server.start([folder]);
    await writeFile(join(folder, "kunden.parquet"), await customersOf(server));
    await use(server);
    await server.kill();
  },
});

/** A Parquet file of the customers, which the server writes. */
async function customersOf({ origin }: Server): Promise<Buffer> {
  const id = crypto.randomUUID();
  const sql = `select distinct "Kunde", 'Firma ' || "Kunde" as "Name" from ${TABLE} order by 1`;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ sql, id });
  const response = await fetch(`${origin}/v1/query`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(await response.text());
  await response.arrayBuffer();
  const file = await fetch(`${origin}/v1/query/${id}/export?format=parquet`);
  if (!file.ok) throw new Error(await file.text());
  return Buffer.from(await file.arrayBuffer());
}

/** A user who does a task, and counts what it takes. */
class Analyst {
  #numActions = 0;

  constructor(
    readonly page: Page,
    readonly server: Server,
  ) {}

  /** One click, typed text, pressed key or drag. */
  async act(action: Promise<unknown>): Promise<void> {
    this.#numActions++;
    await action;
  }

  /** Does a task from the start page on. */
  async task(title: string, work: () => Promise<void>): Promise<void> {
    await test.step(title, async () => {
      await this.page.goto(this.server.origin);
      this.#numActions = 0;
      await work();
      expect(this.#numActions, `actions for: ${title}`).toBeLessThanOrEqual(MAX_ACTIONS);
    });
  }

  async open(table: string): Promise<void> {
    await this.act(chooseTable(this.page, table));
    await expect(status(this.page)).toContainText("Complete: ");
  }

  async openMenu(column: string): Promise<void> {
    const button = header(this.page, column).locator("button");
    await expect(button).toBeAttached();
    await this.act(header(this.page, column).click({ button: "right" }));
    await expect(this.page.getByRole("dialog", { name: `Column ${column}` })).toBeVisible();
  }

  /** Shows only the rows of a cell's value. */
  async filterByCell(at: Locator): Promise<void> {
    await this.act(at.click({ button: "right" }));
    await this.act(this.page.getByRole("menuitem", { name: /^Equals/ }).click());
  }

  async expectSales(sales: readonly Sale[]): Promise<void> {
    expect(sales.length).toBeGreaterThan(0);
    expect(sales.length).toBeLessThan(SALES.length);
    await expect.poll(() => rowsOf(this.page)).toEqual(sales.map(cellsOf));
  }
}

/** The texts of all shown rows. */
function rowsOf(page: Page): Promise<(string | null)[][]> {
  return page.locator("colonnade-viewer").evaluate(async ({ view, columns }: ColonnadeViewer) => {
    if (view === undefined) return [];
    const rows = await view.text({ start: 0, end: view.numRows }, [...columns]);
    return rows.map((row) => [...row]);
  });
}

/** Drags over the plot of a column; `from` and `to` are fractions of its width. */
async function drag(page: Page, column: string, from: number, to: number): Promise<void> {
  const plot = page.getByRole("slider", { name: new RegExp(` of ${column}$`) });
  await expect(plot).toBeVisible();
  const box = await plot.boundingBox();
  if (box === null) throw new Error(`there is no plot of ${column}`);
  await page.mouse.move(box.x + from * box.width, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + to * box.width, box.y + 12, { steps: 4 });
  await page.mouse.up();
}

/** The rows of a chart's table of values. */
async function valuesOf(region: Locator): Promise<string[][]> {
  await region.getByRole("button", { name: "Table", exact: true }).click();
  const rows = region.getByRole("table").locator("tbody tr");
  await expect(rows.first()).toBeVisible();
  const values = await rows.evaluateAll((all) =>
    all.map((row) => [...row.children].map((each) => each.textContent.replaceAll(",", ""))),
  );
  await region.getByRole("button", { name: "Table", exact: true }).click();
  return values;
}

/** The sums of the amounts by customers. */
function revenues(): Map<string, string> {
  const cents = new Map<string, number>();
  for (const sale of SALES) {
    const customer = String(sale.customer);
    cents.set(customer, (cents.get(customer) ?? 0) + sale.cents);
  }
  return new Map([...cents].map(([customer, sum]) => [customer, (sum / 100).toFixed(2)]));
}

test("an analyst finds, filters, charts and shares rows without SQL", async ({
  page,
  server,
  browser,
}) => {
  const analyst = new Analyst(page, server);

  await analyst.task("see what is there", async () => {
    const tables = page.getByRole("navigation", { name: "Tables" });
    for (const name of [TABLE, "umsatz_2025_q2", "umsatz_2025_q3", "kunden", "ereignisse"]) {
      await expect(tables.getByRole("link", { name, exact: true })).toBeVisible();
    }
    await expect(tables.getByRole("link", { name: /^archiv/ })).toBeVisible();
    await analyst.act(tables.getByText("Not shown (1)").click());
    await expect(tables.getByRole("listitem").filter({ hasText: ".xlsx" })).toBeVisible();
  });

  await analyst.task("the rows of one customer", async () => {
    await analyst.open(TABLE);
    await expect.poll(() => rowsOf(page)).toEqual(SALES.map(cellsOf));
    await analyst.filterByCell(cell(page, 2, 2));
    await analyst.expectSales(SALES.filter(({ customer }) => customer === SALES[2]?.customer));
  });

  await analyst.task("the rows without an e-mail address", async () => {
    await analyst.open(TABLE);
    await analyst.openMenu("E-Mail");
    await analyst.act(page.getByRole("button", { name: "None", exact: true }).click());
    const values = page.getByRole("group", { name: "Checked values" });
    for (const name of [/^null/, /^\(empty\)/]) {
      await analyst.act(values.getByRole("checkbox", { name }).check());
    }
    await analyst.act(page.getByRole("button", { name: "Apply filter" }).click());
    await analyst.expectSales(SALES.filter(({ email }) => email === null || email === ""));
  });

  await analyst.task("two categories in a range of days", async () => {
    await analyst.open(TABLE);
    await analyst.act(drag(page, "Kategorie", 0.1, 0.6));
    const chosen = ["Hardware", "Software"];
    await expect(page.getByText(`Kategorie is one of ${chosen.join(", ")}`)).toBeVisible();
    await analyst.openMenu("Datum");
    await analyst.act(page.getByLabel("From", { exact: true }).fill("2025-01-20"));
    await analyst.act(page.getByLabel("To", { exact: true }).fill("2025-02-14"));
    await analyst.act(page.keyboard.press("Enter"));
    await analyst.expectSales(
      SALES.filter(
        ({ date, category }) =>
          chosen.includes(category ?? "") &&
          isoDay(date) >= "2025-01-20" &&
          isoDay(date) <= "2025-02-14",
      ),
    );
  });

  await analyst.task("the rows that contain a text", async () => {
    await analyst.open(TABLE);
    await analyst.act(page.getByRole("button", { name: "Find" }).click());
    await analyst.act(page.getByLabel("Find in cells and column names").fill("reklamation"));
    await analyst.act(page.getByRole("button", { name: "Only these rows" }).click());
    await analyst.expectSales(SALES.filter(({ note }) => note.startsWith("Reklamation")));
  });

  await analyst.task("revenue by customer, and the rows of a bar", async () => {
    await analyst.open(TABLE);
    await analyst.act(page.getByRole("button", { name: "Chart", exact: true }).click());
    const numRows = page.getByRole("region", { name: "Rows by Kunde" });
    await analyst.act(
      numRows.getByRole("combobox", { name: "Y", exact: true }).selectOption("sum of"),
    );
    const some = page.getByRole("region", { name: /^Sum of .* by Kunde$/ });
    await analyst.act(
      some.getByRole("combobox", { name: "Column", exact: true }).selectOption("Betrag"),
    );
    const sums = page.getByRole("region", { name: "Sum of Betrag by Kunde" });
    await expect(sums).toHaveAttribute("aria-busy", "false");
    const values = await valuesOf(sums);
    expect(new Map(values.map(([customer, sum]) => [customer, sum]))).toEqual(revenues());
    const bars = sums.getByRole("application");
    await analyst.act(bars.click({ position: { x: 60, y: 16 } }));
    await expect(page.getByRole("button", { name: "Clear selection" })).toBeVisible();
    const [[first] = []] = values;
    await analyst.expectSales(SALES.filter(({ customer }) => String(customer) === first));
  });

  await analyst.task("the filtered rows as a German CSV file", async () => {
    await analyst.open(TABLE);
    await analyst.filterByCell(cell(page, 2, 2));
    const sales = SALES.filter(({ customer }) => customer === SALES[2]?.customer);
    await analyst.expectSales(sales);
    await analyst.act(page.getByRole("button", { name: "Export" }).click());
    const dialog = page.getByRole("dialog", { name: "Export" });
    await analyst.act(dialog.getByLabel("Program").selectOption("Excel in most of Europe"));
    const download = page.waitForEvent("download");
    await analyst.act(dialog.getByRole("button", { name: /^CSV Text/ }).click());
    const path = test.info().outputPath("export.csv");
    await (await download).saveAs(path);
    const lines = sales.map(({ date, customer, category, cents, email, note }) => {
      const written = email === "" ? '""' : (email ?? "");
      const amount = germanAmount(cents, false);
      return [isoDay(date), customer, category ?? "", amount, written, note].join(";");
    });
    const text = await readFile(path, "utf8");
    expect(text.trimEnd().split(/\r?\n/)).toEqual([`\ufeff${NAMES.join(";")}`, ...lines]);
  });

  await analyst.task("the link shows the same rows elsewhere", async () => {
    await analyst.open(TABLE);
    await analyst.filterByCell(cell(page, 0, 3));
    const sales = SALES.filter(({ category }) => category === SALES[0]?.category);
    await analyst.expectSales(sales);
    await analyst.act(page.getByRole("button", { name: "Copy link" }).click());
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const context = await browser.newContext();
    const other = await context.newPage();
    await other.goto(link);
    await expect(status(other)).toContainText(`Complete: ${sales.length} rows`);
    await expect.poll(() => rowsOf(other)).toEqual(sales.map(cellsOf));
    await context.close();
  });

  await analyst.task("the quartiles of the amounts", async () => {
    await analyst.open(TABLE);
    await analyst.act(page.getByRole("tab", { name: "Details" }).click());
    await analyst.act(page.getByRole("button", { name: "Summarise columns" }).click());
    const sorted = SALES.map(({ cents }) => cents).sort((a, b) => a - b);
    const quartiles = [1, 2, 3].map((part) => sorted[Math.ceil((sorted.length * part) / 4) - 1]);
    const row = page.getByRole("row").filter({ hasText: "Betrag" });
    for (const cents of quartiles) {
      const text = ((cents ?? 0) / 100).toFixed(2);
      await expect(row.getByRole("cell", { name: text, exact: true })).toBeVisible();
    }
  });
});

test("an analyst makes a field of an event log a column", async ({ page, server }) => {
  const analyst = new Analyst(page, server);
  await analyst.task("a field of the event log as a column", async () => {
    await analyst.open("ereignisse");
    await analyst.act(doubleClick(cell(page, 0, 2)));
    const add = { name: "Add as column: user.name", exact: true };
    await analyst.act(page.getByRole("button", add).click());
    await expect(header(page, "payload.user.name")).toBeVisible();
    await expect
      .poll(async () => (await rowsOf(page)).map((row) => row[2]))
      .toEqual(EVENTS.map(({ payload }) => nameIn(payload)));
  });
});
