import { defineConfig } from "@playwright/test";

// Chromium has no sandbox for root, and Firefox starts as root only with root's own home folder.
const isRoot = process.getuid?.() === 0;

/** What of Chromium only takes time here: drawing with an emulated GPU, and the pages behind its address bar. */
const NOT_NEEDED = [
  "--disable-gpu",
  "--disable-gpu-rasterization",
  // Chromium reads the last list alone, so this one begins with Playwright's own.
  "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,BoundaryEventDispatchTracksNodeRemoval," +
    "DestroyProfileOnBrowserClose,DialMediaRouteProvider,GlobalMediaControls,HttpsUpgrades,LensOverlay," +
    "MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,BlockOriginHeaderModificationOnRedirect," +
    "Translate,AutoDeElevate,OptimizationHints," +
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
];

/** The options that start an installed browser; without a path, Playwright's own. */
const installed = (path: string | undefined) => (path ? { executablePath: path } : {});

/**
 * Files of tests that Firefox skips: pixels of one engine, its debugger, axe, and those that mainly test the
 * server or other programs. In both browsers they would take half as long again.
 */
const CHROMIUM_ALONE = [
  "all-day",
  "axe",
  "billion",
  "chart-sql",
  "charts",
  "code",
  "cuts",
  "docs",
  "gallery",
  "interop",
  "jupyter",
  "live",
  "many",
  "naughty",
  "pictures",
  "reach",
  "spark",
  "stores",
  "story",
].map((name) => `**/${name}.spec.ts`);

export default defineConfig({
  testDir: "tests",
  globalSetup: "./global-setup.ts",
  outputDir: "results",
  snapshotPathTemplate: "../docs/pictures/{arg}{ext}",
  fullyParallel: false,
  // On two cores, a test computes while the other waits; more would make both wait.
  workers: 2,
  forbidOnly: Boolean(process.env.CI),
  timeout: 120_000,
  // A test that fails once in a while is a fault to be found.
  retries: 0,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: { screenshot: "only-on-failure", viewport: { width: 1280, height: 800 } },
  projects: [
    {
      name: "chromium",
      use: {
        browserName: "chromium",
        permissions: ["clipboard-read", "clipboard-write"],
        launchOptions: {
          ...installed(process.env.COLONNADE_CHROMIUM),
          args: isRoot ? ["--no-sandbox", ...NOT_NEEDED] : NOT_NEEDED,
        },
      },
    },
    {
      name: "firefox",
      testIgnore: CHROMIUM_ALONE,
      use: {
        browserName: "firefox",
        // An unchanged Firefox, driven by WebDriver BiDi.
        channel: "moz-firefox",
        launchOptions: {
          ...installed(process.env.COLONNADE_FIREFOX),
          ...(isRoot ? { env: { ...process.env, HOME: "/root" } as Record<string, string> } : {}),
          firefoxUserPrefs: {
            // A mouse: without a screen, Firefox reports no pointer that can hover.
            "ui.primaryPointerCapabilities": 6,
            "ui.allPointerCapabilities": 6,
            "general.smoothScroll": false,
            // Frames are drawn without a GPU, which takes a sixth of the time at 60 a second.
            "layout.frame_rate": 20,
            // Every test compiles the module anew: optimise what it runs, and prepare no further pages.
            "javascript.options.wasm_lazy_tiering": true,
            "dom.ipc.processPrelaunch.enabled": false,
            "browser.newtab.preload": false,
            "app.normandy.enabled": false,
            // The clipboard can be read without a prompt.
            "dom.events.testing.asyncClipboard": true,
          },
        },
      },
    },
  ],
});
