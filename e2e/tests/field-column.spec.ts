import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { elementAlone, expectAccessible } from "./accessible.js";
import { test as base, cell, doubleClick, expect } from "./fixtures.js";
import { Server } from "./server.js";

const EVENTS = [
  { id: 1, payload: { user: { name: "Ann", tags: ["a", "b"] }, n: 5 } },
  { id: 2, payload: { user: { name: "Bob", tags: ["c"] }, n: 7 } },
  { id: 3, payload: { user: { name: null, tags: [] }, n: 9 } },
];

/** Tests with a server of one file, a column of which has nested values. */
const test = base.extend<{ events: Server }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
  events: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "colonnade-field-column-"));
    const lines = EVENTS.map((event) => `${JSON.stringify(event)}\n`);
    await writeFile(join(folder, "events.ndjson"), lines.join(""));
    const server = await Server.start([folder]);
    await use(server);
    await server.kill();
    await rm(folder, { recursive: true });
  },
});

const header = (page: Page, name: string) =>
  page.getByRole("columnheader", { name: new RegExp(`^${name}\\b`) });
const add = (page: Page, path: string) =>
  page.getByRole("dialog").getByRole("button", { name: `Add as column: ${path}`, exact: true });

test("a nested value becomes a column, which keeps the filter", { tag: "@firefox" }, async ({
  page,
  events,
}) => {
  const filter = JSON.stringify({ op: "le", column: "id", value: 2 });
  await page.goto(`${events.origin}/?${new URLSearchParams({ table: "events", filter })}`);
  await expect(page.getByRole("status")).toContainText("Complete: 2 rows");
  await doubleClick(cell(page, 0, 2));
  const name = add(page, "user.name");
  await expect(name).toHaveCSS("opacity", "0");
  await page.getByText('"Ann"', { exact: true }).hover();
  await expect(name).toHaveCSS("opacity", "1");
  await name.focus();
  await expectAccessible(page, elementAlone);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(header(page, "payload.user.name")).toBeVisible();
  await expect(cell(page, 0, 3)).toHaveText("Ann");
  await expect(cell(page, 1, 3)).toHaveText("Bob");
  await expect(page.getByRole("status")).toContainText("Complete: 2 rows");
  await expect(page.getByRole("tab", { name: "Query 1" })).toHaveAttribute("aria-selected", "true");

  // The rows of the statement get another column, whose positions count from 1 in SQL.
  await doubleClick(cell(page, 0, 2));
  await page.getByRole("dialog").getByText("[2 items]", { exact: true }).hover();
  await add(page, "user.tags.1").click();
  await expect(header(page, "payload.user.tags.1")).toBeVisible();
  await expect(cell(page, 0, 3)).toHaveText("Ann");
  await expect(cell(page, 0, 4)).toHaveText("b");
  await expect(cell(page, 1, 4)).toHaveText("null");
  await expect(page.getByRole("tab", { name: "Query 2" })).toHaveAttribute("aria-selected", "true");
  await page.goBack();
  await expect(header(page, "payload.user.tags.1")).toHaveCount(0);
  await expect(cell(page, 1, 3)).toHaveText("Bob");
});
