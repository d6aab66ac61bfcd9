import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expectAccessible } from "./accessible.js";
import { test as base, cell, chooseTable, expect } from "./fixtures.js";
import { Server } from "./server.js";

const TOKEN = "0123456789abcdef-a-token";

/** Tests with a server of the demo tables that requires a token. */
const test = base.extend<object, { guarded: Server }>({
  guarded: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "colonnade-token-"));
      const file = join(folder, "token");
      writeFileSync(file, `${TOKEN}\n`);
      const server = await Server.start(["--token-file", file, "--writable"]);
      await use(server);
      await server.kill();
      rmSync(folder, { recursive: true });
    },
    { scope: "worker" },
  ],
});

const dialog = (page: Page) => page.getByRole("dialog", { name: "Sign in" });

async function signIn(page: Page, token = TOKEN): Promise<void> {
  await dialog(page).getByLabel("Token").fill(token);
  await dialog(page).getByRole("button", { name: "Sign in" }).click();
}

/** Ends the session, and clicks before the page's next poll of the list of tables can notice the end. */
async function clickAfterSession(button: Locator): Promise<void> {
  await button.evaluate(async (element: HTMLElement) => {
    await fetch("/v1/session", { method: "DELETE" });
    element.click();
  });
}

test("the page asks for a token first, and then shows the requested address", async ({
  page,
  context,
  guarded,
}) => {
  const address = `${guarded.origin}/?table=flights&columns=origin,delay&sort=-delay&row=40`;
  await page.goto(address);
  await expect(dialog(page)).toContainText("This server requires a token.");
  await expect(dialog(page).getByLabel("Token")).toBeFocused();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(dialog(page)).toBeVisible();

  await signIn(page, "wrong");
  await expect(dialog(page).getByRole("alert")).toContainText("That is not this server’s token.");
  await expectAccessible(page);

  await signIn(page);
  await expect(dialog(page)).toBeHidden();
  await expect(page.getByRole("link", { name: /^flights\b/ })).toBeVisible();
  await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
  await expect(page.getByRole("columnheader")).toHaveCount(2);
  await expect(cell(page, 45, 1)).toBeVisible();
  expect(page.url()).toBe(address);

  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect(stored + cookie?.value + page.url()).not.toContain(TOKEN);
});

test("streams, exports, uploads and code work with the session", async ({ page, guarded }) => {
  await page.goto(guarded.origin);
  await signIn(page);
  await chooseTable(page, "every_type");
  await expect(page.getByRole("status")).toContainText("Complete: 24 rows");
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: /^CSV Text/ }).click();
  const text = readFileSync(await (await download).path(), "utf8");
  expect(text.split("\n").length).toBeGreaterThan(24);

  await page.getByLabel("Files to open").setInputFiles({
    name: "sent.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("a,b\n1,2\n"),
  });
  await page.getByRole("button", { name: "Upload" }).click();
  await expect(page.getByRole("region", { name: "Files" })).toContainText("Table sent");
  await expect(page.getByRole("status")).toContainText("Complete: 1 row");

  await page.getByRole("button", { name: "Copy as code" }).click();
  const code = page.getByRole("dialog", { name: "Copy as code" });
  await expect(code).toContainText('os.environ["COLONNADE_TOKEN"]');
  await expect(code).not.toContainText(TOKEN);
});

test("an ended session shows the sign-in, and then the page continues", async ({
  page,
  context,
  guarded,
}) => {
  await page.goto(`${guarded.origin}/?table=flights`);
  await signIn(page);
  await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
  await page.getByRole("textbox", { name: "SQL" }).fill("select 41 + 1 as answer");
  await clickAfterSession(page.getByRole("button", { name: "Run" }));
  await expect(dialog(page)).toContainText("Your session has ended.");
  await signIn(page);
  await expect(cell(page, 0, 1)).toHaveText("42");
  await expect(page.getByRole("alert")).toHaveCount(0);

  // The poll of the list of tables also notices an ended session.
  await context.clearCookies();
  await expect(dialog(page)).toContainText("Your session has ended.");
  await signIn(page);
  await expect(cell(page, 0, 1)).toHaveText("42");
});

test("charts and plans of an ended session load after the sign-in", async ({ page, guarded }) => {
  await page.goto(`${guarded.origin}/?table=flights`);
  await signIn(page);
  await expect(page.getByRole("status")).toContainText("Complete: 3,000,000 rows");
  await clickAfterSession(page.getByRole("button", { name: "Chart", exact: true }));
  await expect(dialog(page)).toBeVisible();
  await signIn(page);
  await expect(page.locator("chart-figure")).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Retry" })).toHaveCount(0);

  await page.getByRole("textbox", { name: "SQL" }).fill("select count(*) from flights");
  await clickAfterSession(page.getByRole("button", { name: "Explain" }));
  await expect(dialog(page)).toBeVisible();
  await signIn(page);
  await expect(page.getByRole("region", { name: "Logical plan" })).toBeVisible();
});

test("an upload in an ended session continues after the sign-in", async ({ page, guarded }) => {
  await page.goto(guarded.origin);
  await signIn(page);
  await page.getByLabel("Files to open").setInputFiles({
    name: "late.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("a,b\n1,2\n"),
  });
  await expect(page.getByRole("button", { name: "Upload" })).toBeVisible();
  await clickAfterSession(page.getByRole("button", { name: "Upload" }));
  await expect(dialog(page)).toBeVisible();
  await signIn(page);
  await expect(page.getByRole("region", { name: "Files" })).toContainText("Table late");
});

test("signing out ends the session and keeps the address", async ({ page, guarded }) => {
  await page.goto(`${guarded.origin}/?table=every_type`);
  await signIn(page);
  await expect(page.getByRole("status")).toContainText("Complete: 24 rows");
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(dialog(page)).toContainText("This server requires a token.");
  await expect(page.getByRole("gridcell")).toHaveCount(0);
  await expect(page).toHaveURL(/table=every_type/);
  await signIn(page);
  await expect(page.getByRole("status")).toContainText("Complete: 24 rows");
});

test("a sign-in in one tab applies to all tabs", async ({ page, context, guarded }) => {
  await page.goto(`${guarded.origin}/?table=every_type`);
  await expect(dialog(page)).toBeVisible();
  const other = await context.newPage();
  await other.goto(guarded.origin);
  await signIn(other);
  await expect(dialog(other)).toBeHidden();
  await expect(dialog(page)).toBeHidden();
  await expect(page.getByRole("status")).toContainText("Complete: 24 rows");
});

test("a server without a token shows no sign-in and no sign-out", async ({ page, demo }) => {
  await page.goto(demo.origin);
  await expect(page.getByRole("link", { name: /^flights\b/ })).toBeVisible();
  await expect(dialog(page)).toBeHidden();
  await expect(page.getByRole("button", { name: "Sign out" })).toBeHidden();
});
