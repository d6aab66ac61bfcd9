// What some browsers refuse, or lack without TLS.

import type { Page } from "@playwright/test";
import { cell, clickOn, expect, test, viewer } from "./viewer.js";

const TABLE = "/v1/tables/lineitem/rows?limit=1000";

for (const how of ["refused", "lost"]) {
  test(`a compiled module that is ${how} on its way to the worker`, async ({ page, stage }) => {
    await page.addInitScript((isLost) => {
      const { postMessage } = MessagePort.prototype;
      MessagePort.prototype.postMessage = function (this: MessagePort, ...args: unknown[]) {
        const hasModule = (value: unknown): boolean =>
          value instanceof WebAssembly.Module ||
          (value?.constructor === Object && Object.values(value).some(hasModule));
        if (!hasModule(args[0])) return postMessage.apply(this, args as [unknown]);
        if (!isLost) throw new DOMException("refused", "DataCloneError");
      };
    }, how === "lost");
    await stage.show(TABLE);
    await expect(page.getByRole("status")).toContainText("Complete: 1,000 rows");
  });
}

/** Removes the async clipboard, and lets the copy command work only in the task of a key. */
async function withoutAsyncClipboard(page: Page): Promise<void> {
  await page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined });
    let isGesture = false;
    addEventListener(
      "keydown",
      () => {
        isGesture = true;
        setTimeout(() => {
          isGesture = false;
        });
      },
      { capture: true },
    );
    const execCommand = document.execCommand.bind(document);
    Document.prototype.execCommand = (name: string) => isGesture && execCommand(name);
    addEventListener("copy", ({ clipboardData }) => {
      document.title = clipboardData?.getData("text/plain") ?? "";
    });
  });
}

test("cells are copied without the async clipboard", async ({ page, stage }) => {
  await withoutAsyncClipboard(page);
  await stage.show(TABLE);
  await clickOn(cell(page, 0, 1));
  await clickOn(cell(page, 1, 2), "Shift");
  await page.keyboard.press("Control+c");
  await expect(viewer(page)).toContainText("Copied 4 cells");
  expect(await page.evaluate(() => document.querySelector("title")?.text)).toBe(
    "1\t155190\n1\t67310",
  );
});

test("no observer of sizes changes what it observes", async ({ page, stage }) => {
  await page.addInitScript(() => {
    addEventListener("error", ({ message }) => {
      document.title = message;
    });
  });
  await stage.show(TABLE);
  for (const width of [500, 900, 559, 561, 640]) {
    await page.setViewportSize({ width, height: 700 });
    await expect.poll(() => viewer(page).evaluate((each) => each.clientWidth)).toBeLessThan(width);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done(null))));
  }
  await expect(page).toHaveTitle("Viewer");
});
