import { type Page, test } from "@playwright/test";

/** Leaves the test out in other browsers; `reason` says what Playwright cannot do in an unchanged Firefox. */
export function chromiumAlone(reason: string): void {
  test.skip(test.info().project.name !== "chromium", reason);
}

/** Whether the page is Chromium's, if only a part of a test needs that. */
export function isChromium(page: Page): boolean {
  return page.context().browser()?.browserType().name() === "chromium";
}

/** Reasons that several tests share. */
export const NO_TOUCH = "touch events come from Chromium's debugger";
export const NO_MEDIA = "Firefox ignores emulated media features";
export const NO_TRACE = "frames are read from Chromium's trace";
export const NO_DOUBLE_CLICK = "Firefox gets two single clicks";
export const NO_DROP = "dropped files come from Chromium's debugger";
export const NO_BLOB_DOWNLOAD = "Firefox does not report downloads of blob: addresses";
export const NO_CACHED_PAGE = "Playwright loses a page that Firefox restores from its cache";
