import { defineConfig } from "@playwright/test";

const executablePath = process.env.COLONNADE_CHROMIUM;

export default defineConfig({
  testDir: "tests",
  globalSetup: "./global-setup.ts",
  outputDir: "results",
  snapshotPathTemplate: "../docs/pictures/{arg}{ext}",
  fullyParallel: false,
  // One worker: the server and a browser use both cores.
  workers: 1,
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
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    },
  },
});
