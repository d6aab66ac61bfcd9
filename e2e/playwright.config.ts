import { defineConfig } from "@playwright/test";

const executablePath = process.env.COLONNADE_CHROMIUM;

export default defineConfig({
  testDir: "tests",
  globalSetup: "./global-setup.ts",
  outputDir: "results",
  fullyParallel: false,
  // One worker: the server and a browser use both cores.
  workers: 1,
  forbidOnly: Boolean(process.env.CI),
  timeout: 120_000,
  // Tests use real browsers, engines and sockets; one that passes on the retry is reported as flaky.
  retries: 1,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: {
    trace: "on-first-retry",
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      ...(executablePath ? { executablePath } : {}),
      // Chromium has no sandbox for root.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    },
  },
});
