import { defineConfig } from "@playwright/test";
import { CHROMIUM_ARGUMENTS } from "../scripts/chromium.mjs";

const {
  COLONNADE_CHROMIUM: chromium,
  COLONNADE_FIREFOX: firefox,
  COLONNADE_WEBKIT: webkit,
  COLONNADE_FULL: isFull,
} = process.env;

/** Parts of Chromium that only take time here. */
const NOT_NEEDED = ["--disable-gpu", "--disable-gpu-rasterization", ...CHROMIUM_ARGUMENTS];

/** Preferences of Firefox. */
const FIREFOX_PREFERENCES = {
  // A mouse that hovers: a machine without a screen has none.
  "ui.primaryPointerCapabilities": 6,
  "ui.allPointerCapabilities": 6,
  "general.smoothScroll": false,
  // Pages may read the clipboard.
  "dom.events.testing.asyncClipboard": true,
  // The driver does not see that a document comes from the back/forward cache.
  "browser.sessionhistory.max_total_viewers": 0,
  "app.normandy.enabled": false,
};

export default defineConfig({
  globalSetup: "./global-setup.ts",
  outputDir: "results",
  snapshotPathTemplate: "../docs/pictures/{arg}{ext}",
  // Long tests, and tests that repeat what another one checks, run only if all tests are wanted.
  ...(isFull ? {} : { grepInvert: /@full/ }),
  // Each test is dispatched alone, so that no worker is left with a long file at the end.
  fullyParallel: true,
  // On two cores, a test computes while another one waits. Each worker has its own browser and servers.
  workers: 2,
  forbidOnly: Boolean(process.env.CI),
  timeout: 120_000,
  // A test that fails once in a while is a fault to be found.
  retries: 0,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: {
    screenshot: "only-on-failure",
    viewport: { width: 1280, height: 800 },
  },
  projects: [
    {
      name: "chromium",
      testDir: "tests",
      use: {
        permissions: ["clipboard-read", "clipboard-write"],
        launchOptions: {
          ...(chromium ? { executablePath: chromium } : {}),
          args: NOT_NEEDED,
        },
      },
    },
    {
      name: "firefox",
      testDir: "tests",
      grepInvert: isFull ? /@chromium/ : /@chromium|@full/,
      ...(isFull ? {} : { grep: /@firefox/ }),
      use: {
        browserName: "firefox",
        // An installed Firefox is driven by WebDriver BiDi, Playwright's own by its protocol.
        ...(firefox ? { channel: "moz-firefox" } : {}),
        launchOptions: {
          ...(firefox ? { executablePath: firefox } : {}),
          firefoxUserPrefs: FIREFOX_PREFERENCES,
        },
      },
    },
    // Its driver runs one browser at a time.
    ...(isFull && webkit ? [{ name: "webkit", testDir: "webkit", workers: 1 }] : []),
  ],
});
