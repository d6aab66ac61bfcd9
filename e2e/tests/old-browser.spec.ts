// The dashboard and the element in browsers that lack features.

import { chromiumOnly, expect, test } from "./fixtures.js";
import { PageServer } from "./package.js";
import { inCheckout } from "./server.js";

/** The policy of the server's dashboard. */
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'";

const NEEDS = "Colonnade needs Chrome 123, Firefox 125 or Safari 17.5, or later.";

/** What old browsers lack. */
function removeFeatures(): void {
  Reflect.deleteProperty(AbortSignal, "any");
  Reflect.deleteProperty(Promise, "withResolvers");
  Reflect.deleteProperty(HTMLElement.prototype, "showPopover");
  CSS.supports = () => false;
}

const LACKS =
  "AbortSignal.any, Promise.withResolvers, HTMLElement.showPopover and CSS light-dark()";

let pages: PageServer;

test.beforeEach(async () => {
  pages = new PageServer("");
  await pages.listen();
});

test.afterEach(() => pages.close());

/** Serves the built dashboard alone. */
function serveDashboard(): void {
  pages.pages = {};
  pages.folders = { "/": inCheckout("web/dashboard/dist") };
  pages.headers = { "content-security-policy": POLICY };
}

test("the dashboard says what an old browser lacks", { tag: "@firefox" }, async ({ page }) => {
  serveDashboard();
  await page.addInitScript(removeFeatures);
  await page.goto(pages.origin);
  await expect(page.getByRole("alert")).toHaveText(`${NEEDS} This browser lacks ${LACKS}.`);
  await expect(page.locator("colonnade-dashboard")).toHaveCount(0);
});

test("the dashboard says what is missing where no module runs", async ({ page }) => {
  serveDashboard();
  await page.addInitScript(() => Reflect.deleteProperty(AbortSignal, "any"));
  await page.route("**/assets/*.js", (route) => route.abort());
  await page.goto(pages.origin);
  await expect(page.getByRole("alert")).toHaveText(`${NEEDS} This browser lacks AbortSignal.any.`);
});

test("a browser of today gets the dashboard", async ({ page }) => {
  serveDashboard();
  await page.goto(pages.origin);
  await expect(page.locator("colonnade-dashboard header")).toBeVisible();
  await expect(page.getByText(NEEDS)).toHaveCount(0);
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });

  test(
    "the dashboard says that it needs JavaScript",
    chromiumOnly("Firefox's driver cannot turn scripts off"),
    async ({ page }) => {
      serveDashboard();
      await page.goto(pages.origin);
      // Playwright finds no text in <noscript>.
      const notice = page.locator("noscript p");
      await expect(notice).toBeVisible();
      expect(await notice.textContent()).toContain("Colonnade needs JavaScript.");
    },
  );
});

test("the element's error says what an old browser lacks", { tag: "@firefox" }, async ({
  page,
}) => {
  pages.pages = {
    "/": `<!doctype html><title>Page</title>
      <script type="module">
        import "./define.js";
        const viewer = document.querySelector("colonnade-viewer");
        viewer.addEventListener("colonnade-error", ({ detail }) => { window.code = detail.code; });
        viewer.ready.catch(({ code }) => { window.rejected = code; });
      </script>
      <colonnade-viewer src="/rows.arrow"></colonnade-viewer>`,
  };
  await page.addInitScript(removeFeatures);
  await page.goto(pages.origin);
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("This browser is too old.");
  await expect(alert).toContainText(`${NEEDS} This browser lacks ${LACKS}.`);
  const codes = await page.evaluate(() => {
    const { code, rejected } = window as unknown as { code: string; rejected: string };
    return { code, rejected };
  });
  expect(codes).toEqual({ code: "browser_too_old", rejected: "browser_too_old" });
});
