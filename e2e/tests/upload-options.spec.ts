import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { tableFromIPC } from "apache-arrow";
import { expectAccessible } from "./accessible.js";
import { test as base, cell, expect } from "./fixtures.js";
import { Server, smallTables } from "./server.js";

interface Stage {
  folder: string;
  server: Server;
}

/** Tests with a server that accepts uploads, and with a folder for files. */
const test = base.extend<{ stage: Stage }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  stage: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "colonnade-options-"));
    const server = await Server.start([...smallTables(), "--writable"]);
    await use({ folder, server });
    await server.kill();
    rmSync(folder, { recursive: true });
  },
});

const PRICES = "city;price;day\nParis;1,50;2024-01-02\nRome;NA;2024-02-03\n";
const latin1 = (text: string) => Buffer.from(text, "latin1");
const tray = (page: Page) => page.getByRole("region", { name: "Files" });
const row = (page: Page, name: string) => tray(page).getByRole("listitem", { name, exact: true });

/** Writes a file and opens it in the page; returns its entry in the list of files. */
async function openFile(
  { page, folder }: { page: Page; folder: string },
  name: string,
  contents: string | Buffer,
): Promise<Locator> {
  const path = join(folder, name);
  writeFileSync(path, contents);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open files" }).press("Enter");
  await (await chooser).setFiles(path);
  return row(page, name);
}

/** Opens the dialog of a file's options with the keyboard. */
async function openOptions(page: Page, file: Locator): Promise<Locator> {
  await file.getByRole("button", { name: "Options…" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: /^Options of / });
  await expect(dialog.getByRole("combobox").first()).toBeFocused();
  return dialog;
}

/** The label of the choice that is shown. */
function chosen(dialog: Locator, name: string): Promise<string> {
  const select = dialog.getByRole("combobox", { name });
  return select.evaluate(
    (element) => (element as HTMLSelectElement).selectedOptions[0]?.label ?? "",
  );
}

/** The header of a preview, with the names and types of its columns. */
const headerOf = (dialog: Locator) => dialog.getByRole("columnheader");

/** Expects the type of a column of a preview. */
function expectType(dialog: Locator, column: string, type: string): Promise<void> {
  return expect(headerOf(dialog).filter({ hasText: column })).toHaveText(`${column}${type}`);
}

/** The types and the rows of a table, read without the page. */
async function tableOf({ server }: Stage, table: string) {
  const response = await fetch(`${server.origin}/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ table }),
  });
  const read = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
  return {
    types: read.schema.fields.map(({ type }) => String(type)),
    rows: read.toArray().map((values) => Object.values(values?.toJSON() ?? {})),
  };
}

test("the preview shows the types of the chosen options, and the upload has them", async ({
  page,
  stage,
}) => {
  await page.goto(stage.server.origin);
  const file = await openFile({ page, ...stage }, "prices.csv", PRICES);
  const dialog = await openOptions(page, file);
  await expect.poll(() => chosen(dialog, "Delimiter")).toBe("Automatic: semicolon (;)");
  expect(await chosen(dialog, "Quote character")).toBe('Automatic: double (")');
  expect(await chosen(dialog, "Header line")).toBe("Automatic: yes");
  expect(await chosen(dialog, "Encoding")).toBe("Automatic: UTF-8");
  await expectType(dialog, "price", "string");
  await expectAccessible(page);

  await dialog.getByRole("combobox", { name: "Decimal separator" }).selectOption("Comma (1,5)");
  await expectType(dialog, "price", "string");
  await dialog.getByRole("textbox", { name: "Words for null" }).fill("n/a, NA");
  await expectType(dialog, "price", "decimal128(18, 2)");
  await expectType(dialog, "day", "date32[day]");
  await dialog.getByRole("textbox", { name: "Column types" }).fill("nothing:text");
  await expect(dialog.getByRole("alert")).toContainText("nothing");
  await expect(dialog.getByRole("grid")).toBeHidden();
  await dialog
    .getByRole("textbox", { name: "Column types" })
    .fill("day: text, price:decimal(12, 3)");
  await expect(dialog.getByRole("alert")).toBeHidden();
  await expectType(dialog, "price", "decimal128(12, 3)");
  await expectType(dialog, "day", "string");

  const sent = page.waitForRequest((request) => request.method() === "PUT");
  await dialog.getByRole("button", { name: "Upload" }).press("Enter");
  const { searchParams } = new URL((await sent).url());
  expect(Object.fromEntries(searchParams)).toEqual({
    decimal: ",",
    null: "n/a,NA",
    types: "day: text,price:decimal(12, 3)",
  });
  await expect(file).toContainText("Table prices");
  await expect(dialog).toBeHidden();
  await expect(file).toBeFocused();
  await expect(cell(page, 0, 2)).toHaveText("1.500");
  const { types } = await tableOf(stage, "prices");
  expect(types[1]).toBe("Decimal[12e+3]");
});

test("columns with several readings are asked about, with an example for each", async ({
  page,
  stage,
}) => {
  await page.goto(stage.server.origin);
  const text = "amount;day;n\n1.234;01.02.2026;1\n5.678;03.04.2026;2\n";
  const file = await openFile({ page, ...stage }, "orders.csv", text);
  const dialog = await openOptions(page, file);
  const question = (column: string) =>
    dialog.getByRole("group", { name: `Readings of ${column}`, exact: true });
  await expect(question("amount")).toContainText("amount may be read as");
  await expect(question("amount").getByRole("button")).toHaveText([
    "Number, decimal point 1.234 → 1.234",
    "Number, decimal comma 1.234 → 1234",
  ]);
  await expect(question("day").getByRole("button")).toHaveCount(2);
  await expectType(dialog, "amount", "string");
  await expectAccessible(page);
  await question("amount")
    .getByRole("button", { name: /decimal comma/ })
    .press("Enter");
  const types = dialog.getByRole("textbox", { name: "Column types" });
  await expect(types).toHaveValue("amount:number(,)");
  await expect(question("day").getByRole("button").first()).toBeFocused();
  await expectType(dialog, "amount", "int64");
  await expect(question("amount")).toHaveCount(0);
  await question("day")
    .getByRole("button", { name: /2 January 2026/ })
    .click();
  await expect(types).toHaveValue("amount:number(,),day:date(MM.DD.YYYY)");
  await expectType(dialog, "day", "date32[day]");
  await expect(dialog.getByRole("gridcell", { name: "2026-01-02" })).toBeVisible();

  // The options for all columns answer too.
  await types.fill("");
  await expect(question("day")).toBeVisible();
  await dialog.getByRole("combobox", { name: "Thousands separator" }).selectOption("Point (1.234)");
  await dialog.getByRole("combobox", { name: "Dates" }).selectOption("Day first (31.12.2026)");
  await expectType(dialog, "day", "date32[day]");
  await expectType(dialog, "amount", "int64");
  await dialog.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText("Table orders");
  expect((await tableOf(stage, "orders")).rows[0]?.[0]).toBe(1234n);
});

test("a failed upload of Latin-1 is corrected by its options", async ({ page, stage }) => {
  await page.goto(stage.server.origin);
  const text = "stadt;n\nMünchen;1\nKöln;2\n";
  const file = await openFile({ page, ...stage }, "latin.csv", latin1(text));
  await file.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText(/UTF-8/);
  await expect(file.getByRole("button", { name: "Try again" })).toBeVisible();
  const dialog = await openOptions(page, file);
  await expect(dialog.getByRole("alert")).toContainText(/UTF-8/);
  await expectAccessible(page);
  await dialog.getByRole("combobox", { name: "Encoding" }).selectOption("latin-1");
  await expect(dialog.getByRole("gridcell", { name: "München" })).toBeVisible();
  await expect(dialog.getByRole("alert")).toBeHidden();
  await dialog.getByRole("textbox", { name: "Table name for latin.csv" }).fill("towns");
  await dialog.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText("Table towns");
  expect((await tableOf(stage, "towns")).rows).toEqual([
    ["München", 1n],
    ["Köln", 2n],
  ]);
});

test("an uploaded file is uploaded again with other options after a confirmation", async ({
  page,
  stage,
}) => {
  await page.goto(stage.server.origin);
  // Without a header, the first row would be the names.
  const file = await openFile({ page, ...stage }, "again.csv", "x~y\n1~2\n");
  await file.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText("Table again");
  const dialog = await openOptions(page, file);
  await expect(headerOf(dialog)).toHaveCount(1);
  await dialog.getByRole("combobox", { name: "Delimiter" }).selectOption("Other…");
  await expect(dialog.getByRole("textbox", { name: /^Delimiter/ })).toBeFocused();
  await page.keyboard.type("~");
  await expect(headerOf(dialog)).toHaveCount(2);
  await dialog.getByRole("combobox", { name: "Header line" }).selectOption("No");
  await expect(dialog.getByRole("gridcell", { name: "x" })).toBeVisible();
  const replace = dialog.getByRole("button", { name: "Replace" });
  await replace.press("Enter");
  await expect(dialog).toBeVisible();
  await dialog.getByRole("checkbox", { name: "Replace the uploaded table again" }).check();
  await replace.click();
  await expect(dialog).toBeHidden();
  await expect
    .poll(async () => (await tableOf(stage, "again")).rows)
    .toEqual([
      ["x", "y"],
      ["1", "2"],
    ]);
});

test("Escape closes the options without a change and returns the focus", async ({
  page,
  stage,
}) => {
  await page.setViewportSize({ width: 400, height: 800 });
  await page.goto(stage.server.origin);
  const file = await openFile({ page, ...stage }, "kept.csv", PRICES);
  const dialog = await openOptions(page, file);
  await expect(headerOf(dialog)).toHaveCount(3);
  await dialog.getByRole("combobox", { name: "Delimiter" }).selectOption("Vertical bar (|)");
  await expect(headerOf(dialog)).toHaveCount(1);
  const upload = dialog.getByRole("button", { name: "Upload" });
  await expect(upload).toBeInViewport({ ratio: 1 });
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(file.getByRole("button", { name: "Options…" })).toBeFocused();
  await expect(file.getByRole("button", { name: "Upload" })).toBeInViewport({ ratio: 1 });
  const sent = page.waitForRequest((request) => request.method() === "PUT");
  await file.getByRole("button", { name: "Upload" }).click();
  expect(new URL((await sent).url()).search).toBe("");
});

test("a JSON array of objects is previewed and uploaded", async ({ page, stage }) => {
  await page.goto(stage.server.origin);
  const text = '[\n  {"id": 1, "tags": ["a"]},\n  {"id": 2, "tags": ["b"]}\n]\n';
  const file = await openFile({ page, ...stage }, "array.json", text);
  const dialog = await openOptions(page, file);
  await expect(dialog.getByRole("combobox", { name: "Delimiter" })).toBeHidden();
  await expect(headerOf(dialog)).toHaveCount(2);
  await expect(headerOf(dialog).filter({ hasText: "tags" })).toContainText("list");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await file.getByRole("button", { name: "Upload" }).click();
  await expect(file).toContainText("Table array");
  expect((await tableOf(stage, "array")).rows.map(([id]) => id)).toEqual([1n, 2n]);
});

test("the list shows why a table cannot be read, and has no link to its rows", async ({ page }) => {
  const folder = mkdtempSync(join(tmpdir(), "colonnade-options-"));
  writeFileSync(join(folder, "sound.csv"), "n\n1\n");
  writeFileSync(join(folder, "damaged.parquet"), "PAR1 is not enough");
  const server = await Server.start([folder]);
  try {
    await page.goto(server.origin);
    const list = page.getByRole("navigation", { name: "Tables" });
    await expect(list.getByRole("link", { name: "sound" })).toBeVisible();
    const entry = list.getByRole("listitem").filter({ hasText: "damaged" });
    await expect(entry).toContainText("Cannot be read");
    await expect(entry.getByRole("link")).toHaveCount(0);
    const why = entry.getByRole("button", { name: "Why damaged cannot be read" });
    await expect(why).toHaveAttribute("aria-expanded", "false");
    await why.press("Enter");
    await expect(why).toHaveAttribute("aria-expanded", "true");
    const { tables } = (await (await fetch(`${server.origin}/v1/tables`)).json()) as {
      tables: { name: string; error?: string }[];
    };
    const reason = tables.find(({ name }) => name === "damaged")?.error ?? "";
    expect(reason).not.toBe("");
    await expect(entry.getByText(reason)).toBeVisible();
    await expectAccessible(page);
    // The whole entry is the button.
    await entry.getByText("Cannot be read").click({ force: true });
    await expect(entry.getByText(reason)).toBeHidden();
    await expect(page.getByRole("link", { name: /^Open damaged/ })).toHaveCount(0);
    await page.goto(`${server.origin}/?table=damaged&view=details`);
    await expect(page.getByRole("main").getByText("damaged cannot be read")).toBeVisible();
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true });
  }
});
