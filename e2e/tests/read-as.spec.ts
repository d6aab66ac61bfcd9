import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessible.js";
import { test as base, cell, expect } from "./fixtures.js";
import { Server } from "./server.js";

const ORDERS =
  "Ort;Betrag;Menge;Tag\nUlm;2.535,04;1.000;01.02.2026\nBonn;-17,5;12.500;03.04.2026\n";

/** Tests with a server of one CSV file, some of whose columns have several readings. */
const test = base.extend<{ orders: Server }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  orders: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "colonnade-read-as-"));
    await writeFile(join(folder, "orders.csv"), ORDERS);
    const server = await Server.start([folder]);
    await use(server);
    await server.kill();
    await rm(folder, { recursive: true });
  },
});

/** The choice for a column. */
const choice = (page: Page, column: string) =>
  page.getByRole("dialog", { name: `Read ${column} as` });

test("a note asks how to read numbers and dates, and a link shows them the same", async ({
  page,
  browser,
  orders,
}) => {
  await page.goto(`${orders.origin}/?table=orders&sort=-Menge`);
  await expect(page.getByText("Numbers with a decimal point or comma?")).toBeVisible();
  await page.getByRole("button", { name: "Menge…" }).click();
  const menge = choice(page, "Menge");
  await expect(menge.getByRole("button", { name: "decimal point 1.000 → 1.000" })).toBeVisible();
  await expectAccessible(page);
  await menge.getByRole("button", { name: "decimal comma 1.000 → 1000" }).click();
  await expect(cell(page, 0, 3)).toHaveText("12500");
  await expect(page.getByText("Numbers with a decimal point or comma?")).toBeHidden();

  await page.getByRole("button", { name: "Tag…" }).click();
  const day = "01.02.2026 → 1 February 2026";
  await choice(page, "Tag").getByRole("button", { name: day }).click();
  await expect(cell(page, 0, 4)).toHaveText("2026-04-03");
  const types = "types=Menge:number(,),Tag:date(DD.MM.YYYY)";
  expect(page.url()).toBe(`${orders.origin}/?table=orders&${types}&sort=-Menge`);

  const other = await browser.newPage();
  await other.goto(page.url());
  await expect(cell(other, 0, 3)).toHaveText("12500");
  await expect(cell(other, 0, 4)).toHaveText("2026-04-03");
  await other.close();
});

test("the menu of a column reads it in another way, and as found again", async ({
  page,
  orders,
}) => {
  await page.goto(`${orders.origin}/?table=orders`);
  await expect(cell(page, 0, 2)).toHaveText("2535.04");
  await page.getByRole("columnheader", { name: /^Betrag/ }).click({ button: "right" });
  await page.getByRole("button", { name: "Read as…" }).click();
  await choice(page, "Betrag").getByRole("button", { name: "Text" }).click();
  await expect(cell(page, 0, 2)).toHaveText("2.535,04");
  await page.getByRole("columnheader", { name: /^Betrag/ }).click({ button: "right" });
  await page.getByRole("button", { name: "Read as…" }).click();
  await choice(page, "Betrag").getByRole("button", { name: "As found" }).click();
  await expect(cell(page, 0, 2)).toHaveText("2535.04");
  expect(page.url()).toBe(`${orders.origin}/?table=orders`);
});

test("a column that cannot be read in the chosen way is read as text", async ({ page, orders }) => {
  await page.goto(`${orders.origin}/?table=orders&types=Betrag:number(.)`);
  await expect(page.getByText('"2.535,04" in column "Betrag"')).toBeVisible();
  await page.getByRole("button", { name: "Read as text" }).click();
  await expect(cell(page, 0, 2)).toHaveText("2.535,04");
});
