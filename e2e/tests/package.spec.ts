// Each example works with the packed package.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test as base, type Page } from "@playwright/test";
import { createServer } from "vite";
import { Site } from "../../scripts/site.mjs";
import { Embedder } from "./embedder.js";
import { cell, expect } from "./fixtures.js";
import { inCheckout, Server, smallFile, smallTables } from "./server.js";

const STRICT =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'";

// One worker packs the package.
base.describe.configure({ mode: "default" });

/** The first cell of `flights`. */
const FIRST_DATE = "2001-01-01 00:01:00.000000";

interface Stage {
  embedder: Embedder;
  /** Serves the page, and forwards requests for tables to the server. */
  site: Site;
  /** Serves the package's files on another origin. */
  far: Site;
}

const test = base.extend<{ words: string[] }, { stage: Stage }>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const [site, far] = [new Site(), new Site()];
      await Promise.all([site.listen(), far.listen()]);
      const server = await Server.start([...smallTables(), "--allow-origin", site.origin]);
      const embedder = await Embedder.make({
        "http://localhost:7878": server.origin,
        "https://cdn.example": far.origin,
      });
      site.upstream = server.origin;
      far.folders = { "/colonnade/": embedder.path("node_modules", "colonnade") };
      await use({ embedder, site, far });
      await server.kill();
      for (const each of [site, far]) each.close();
      embedder.remove();
    },
    { scope: "worker" },
  ],
  /** Errors and warnings of the page and its console; none are expected. */
  words: async ({ page }, use) => {
    const words: string[] = [];
    page.on("pageerror", (error) => words.push(error.message));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) words.push(message.text());
    });
    await use(words);
  },
});

/** Serves a folder of an example and opens its page. */
async function show(
  page: Page,
  { site, far, embedder }: Stage,
  ...folder: string[]
): Promise<void> {
  far.headers = { "access-control-allow-origin": "*" };
  site.folders = {
    "/": embedder.path(...folder),
    "/node_modules/": embedder.path("node_modules"),
    "/flights.parquet": smallFile("flights"),
    "/favicon.ico": embedder.path("node_modules", "colonnade", "README.md"),
  };
  site.headers = folder[0] === "strict-policy" ? { "content-security-policy": STRICT } : {};
  await page.goto(`${site.origin}/`);
}

/** Expects the first row of `flights`, decoded in a worker, without errors or warnings. */
async function expectRows(page: Page, words: string[]): Promise<void> {
  await expect(page.getByRole("columnheader").first()).toContainText("date");
  await expect(cell(page, 0, 1)).toHaveText(FIRST_DATE);
  expect(page.workers()).toHaveLength(1);
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
  expect(words).toEqual([]);
}

for (const name of ["import-map", "one-file", "styled", "strict-policy", "other-origin"]) {
  test(`${name}: a page without a build`, async ({ page, stage, words }) => {
    await show(page, stage, name);
    await expectRows(page, words);
  });
}

test("parquet-file: a page without a server of ours", async ({ page, stage, words }) => {
  await show(page, stage, "parquet-file");
  await expect(page.getByRole("columnheader").first()).toContainText("date");
  await expect(cell(page, 0, 1)).toHaveText(FIRST_DATE);
  await expect(page.getByRole("status")).toContainText("Complete: 100,000 rows");
  expect(page.workers()).toHaveLength(2);
  expect(words).toEqual([]);
});

for (const name of ["vite", "placed-files", "react"]) {
  test(`${name}: built with Vite`, async ({ page, stage, words }) => {
    await stage.embedder.run(name, "build");
    await show(page, stage, name, "dist");
    await expectRows(page, words);
  });
}

test("vite: its development server", async ({ page, stage }) => {
  const vite = await createServer({
    root: stage.embedder.path("vite"),
    logLevel: "error",
    server: {
      host: "127.0.0.1",
      port: 0,
      proxy: { "/v1": stage.site.upstream ?? "" },
      // `node_modules` is beside the examples, not in each of them.
      fs: { allow: [stage.embedder.folder] },
    },
  });
  try {
    await vite.listen();
    await page.goto(vite.resolvedUrls?.local[0] ?? "");
    await page.locator("colonnade-viewer").evaluate((viewer) => {
      viewer.setAttribute("src", "/v1/tables/flights/rows");
    });
    await expect(cell(page, 0, 1)).toHaveText(FIRST_DATE);
    expect(page.workers()).toHaveLength(1);
  } finally {
    await vite.close();
  }
});

for (const name of ["webpack", "esbuild"]) {
  test(`${name}: built with ${name}`, async ({ page, stage, words }) => {
    await stage.embedder.run(name, "build");
    await show(page, stage, name);
    await expectRows(page, words);
  });
}

test("styled: properties, parts and events reach the page", async ({ page, stage }) => {
  await show(page, stage, "styled");
  await expect(page.locator("output")).toHaveText(/^\d+ rows after \d+ ms$/);
  const viewer = page.locator("colonnade-viewer");
  await expect(viewer).toHaveCSS("background-color", "rgb(255, 253, 248)");
  const header = page.getByRole("columnheader").first();
  await expect(header).not.toHaveCSS("letter-spacing", "normal");
});

test("react: events reach the parent component, and the types are correct", async ({
  page,
  stage,
}) => {
  await stage.embedder.run("react", "check");
  await stage.embedder.run("react", "build");
  await show(page, stage, "react", "dist");
  await expect(page.getByRole("heading", { name: /^[1-9]\d* columns$/ })).toBeVisible();
});

test("server-side: HTML that Node renders shows a table in the browser", async ({
  page,
  stage,
  words,
}) => {
  const html = await stage.embedder.run("server-side", "start");
  writeFileSync(stage.embedder.path("server-side", "index.html"), html);
  await show(page, stage, "server-side");
  await expectRows(page, words);
});

test("a policy that forbids blob workers: the page's main thread decodes", async ({
  page,
  stage,
  words,
}) => {
  await show(page, stage, "other-origin");
  stage.far.headers["cross-origin-resource-policy"] = "cross-origin";
  const policy = `${STRICT}; connect-src *`.replace(/script-src 'self'/, `$& ${stage.far.origin}`);
  stage.site.headers = { "content-security-policy": policy };
  await page.goto(`${stage.site.origin}/`);
  await expect(cell(page, 0, 1)).toHaveText(FIRST_DATE);
  expect(page.workers()).toHaveLength(0);
  expect(words.some((text) => text.includes("on the page's thread"))).toBe(true);
});

test("two copies of the package work in one page", async ({ page, stage, words }) => {
  await show(page, stage, "one-file");
  await expectRows(page, words);
  await page.addScriptTag({
    type: "module",
    content: `import { ColonnadeViewer } from "/node_modules/colonnade/dist/define.js";
      window.second = ColonnadeViewer;`,
  });
  await page.waitForFunction(() => "second" in window);
  expect(words).toEqual([]);
});

test("the package contains the custom elements manifest that package.json names", ({ stage }) => {
  const read = (name: string) =>
    JSON.parse(
      readFileSync(stage.embedder.path("node_modules", "colonnade", name), "utf8"),
    ) as Record<string, unknown>;
  const { customElements, exports } = read("package.json");
  expect(exports).toHaveProperty(["./custom-elements.json"], customElements);
  expect(read(customElements as string)).toHaveProperty("modules");
});

test("docs/embedding.md contains all examples unchanged", () => {
  const text = readFileSync(inCheckout("docs/embedding.md"), "utf8");
  const shown = [...text.matchAll(/^`(examples\/[^`]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm)];
  for (const [, path = "", code] of shown) {
    expect(code, path).toBe(readFileSync(inCheckout(path), "utf8"));
  }
  // The gallery shows its own sources.
  const folders = ["gallery", ...shown.map(([, path]) => path?.split("/")[1])];
  expect(new Set(folders)).toEqual(new Set(readdirSync(inCheckout("examples"))));
});
