import { defineConfig } from "@playwright/test";

const executablePath = process.env.COLONNADE_CHROMIUM;

export default defineConfig({
  testDir: "tests",
  globalSetup: "./global-setup.ts",
  outputDir: "results",
  fullyParallel: false,
  // Two cores: the server and a browser are enough for them.
  workers: 1,
  forbidOnly: Boolean(process.env.CI),
  timeout: 120_000,
  // Real browsers, engines and sockets on two busy cores: what passes the second time is told as flaky.
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
