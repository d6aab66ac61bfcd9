import { defineConfig } from "@playwright/test";

const { COLONNADE_CHROMIUM: executablePath, COLONNADE_FULL: isFull } = process.env;

/** Parts of Chromium that only take time here: an emulated GPU, and the pages behind the address bar. */
const NOT_NEEDED = [
  "--disable-gpu",
  "--disable-gpu-rasterization",
  // Chromium reads only the last list, so this one begins with Playwright's own.
  "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,BoundaryEventDispatchTracksNodeRemoval," +
    "DestroyProfileOnBrowserClose,DialMediaRouteProvider,GlobalMediaControls,HttpsUpgrades,LensOverlay," +
    "MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,BlockOriginHeaderModificationOnRedirect," +
    "Translate,AutoDeElevate,OptimizationHints," +
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
];

export default defineConfig({
  testDir: "tests",
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
    launchOptions: {
      ...(executablePath ? { executablePath } : {}),
      // Chromium has no sandbox for root.
      args: process.getuid?.() === 0 ? ["--no-sandbox", ...NOT_NEEDED] : NOT_NEEDED,
    },
  },
});
