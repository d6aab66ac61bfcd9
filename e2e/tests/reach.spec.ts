// Every control can be reached with the Tab key.

import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.js";

/** More than one round in any page, even if other tests store queries meanwhile, which the page lists. */
const MAX_STOPS = 500;

/** The visible and enabled controls, in all shadow roots, that Tab does not reach. */
async function unreached(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    const selector =
      "a[href], button, input, select, textarea, summary, [contenteditable=true], [role=tab], [role=grid]";
    const found: Element[] = [];
    let dialog: Element | undefined;
    const visit = (root: Document | ShadowRoot) => {
      for (const element of root.querySelectorAll("*")) {
        if (element.matches(selector)) found.push(element);
        if (element.matches("dialog:modal")) dialog = element;
        if (element.shadowRoot) visit(element.shadowRoot);
      }
    };
    visit(document);
    const isUsable = (element: Element) =>
      // Controls behind a modal dialog cannot be used.
      (dialog?.contains(element) ?? true) &&
      element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
      !element.matches(":disabled") &&
      element.closest("[aria-hidden=true], [inert]") === null &&
      // Radio buttons and tabs share one tab stop with their group; arrow keys reach the others.
      !element.matches("[type=radio], [role=tab][aria-selected=false]");
    const wanted = new Set(found.filter(isUsable));
    const focused = (): Element | null => {
      let element = document.activeElement;
      while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
      return element;
    };
    const take = () => {
      for (let element = focused(); element !== null; ) {
        wanted.delete(element);
        const root = element.getRootNode();
        element = element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
      }
    };
    document.addEventListener("focusin", () => queueMicrotask(take), { capture: true });
    Object.assign(globalThis, {
      take,
      left: () => [...wanted].filter(isUsable).map((element) => element.outerHTML.slice(0, 120)),
    });
  });
  const left = () => page.evaluate(() => (globalThis as unknown as { left(): string[] }).left());
  for (let stop = 0; stop < MAX_STOPS && (await left()).length > 0; stop++) {
    await page.keyboard.press("Tab");
    await page.evaluate(() => (globalThis as unknown as { take(): void }).take());
  }
  return left();
}

const COMPLETE = "Complete";

test("the start page", async ({ page, small }) => {
  await page.goto(small.origin);
  await expect(page.getByRole("heading", { name: /Tables of any size/ })).toBeVisible();
  await expect(page.getByRole("link", { name: /^lineitem\b/ })).toBeVisible();
  expect(await unreached(page)).toEqual([]);
});

test("rows with charts", async ({ page, small }) => {
  await page.goto(`${small.origin}/?table=flights&chart=`);
  await expect(page.getByRole("status")).toContainText(COMPLETE);
  await expect(page.getByRole("application", { name: "Rows by origin" })).toBeVisible();
  expect(await unreached(page)).toEqual([]);
});

test("the details of a table", async ({ page, small }) => {
  await page.goto(`${small.origin}/?table=lineitem&view=details`);
  await expect(page.getByRole("row", { name: /^l_quantity/ })).toContainText("50.00");
  expect(await unreached(page)).toEqual([]);
});

test("a statement, its rows and its plan", async ({ page, small }) => {
  const address = `${small.origin}/?${new URLSearchParams({ sql: "select 1 as one" })}`;
  await page.goto(address);
  await expect(page.getByRole("status")).toContainText(COMPLETE);
  expect(await unreached(page)).toEqual([]);
  await page.goto(`${address}&view=plan`);
  await expect(page.getByRole("region", { name: "Physical plan" })).toBeVisible();
  expect(await unreached(page)).toEqual([]);
});

for (const name of ["Queries", "Keyboard shortcuts", "History", "Copy as code"]) {
  test(`the dialog ${name}`, async ({ page, small }) => {
    await page.goto(`${small.origin}/?table=every_type`);
    await expect(page.getByRole("status")).toContainText(COMPLETE);
    await page.getByRole("button", { name, exact: true }).press("Enter");
    await expect(page.getByRole("dialog")).toBeVisible();
    expect(await unreached(page)).toEqual([]);
  });
}
