import type { Locator, Page } from "@playwright/test";
import { testOn } from "./other-origin.js";

export {
  cell,
  chromiumOnly,
  doubleClick,
  expect,
  goToRow,
  pointAt,
  pressAt,
  resultIds,
} from "./fixtures.js";

/** A page with only the viewer; the URL's parameters are its attributes. */
const PAGE = `<!doctype html><html lang="en"><title>Viewer</title>
<meta name="viewport" content="width=device-width">
<script type="module">
import "/define.js";
const viewer = document.createElement("colonnade-viewer");
viewer.style.height = "600px";
for (const [name, value] of new URLSearchParams(location.search)) viewer.setAttribute(name, value);
document.body.append(viewer);
</script>`;

/** The test page, whose origin is not the server's. */
export interface Stage {
  origin: string;
  /** Shows `path` of the server and waits until the table is complete or windowed. */
  show(path: string, attributes?: Record<string, string>): Promise<void>;
}

/** Tests of the viewer in a page of its own, with the demo tables. */
export const test = testOn(PAGE).extend<{ stage: Stage }>({
  stage: async ({ page, pages, server }, use) => {
    await use({
      origin: pages.origin,
      show: async (path, attributes = {}) => {
        const src = `${server.origin}${path}`;
        await page.goto(`${pages.origin}/?${new URLSearchParams({ src, ...attributes })}`);
        await page.waitForFunction(() =>
          /^(?:complete|windowed)$/.test(
            (document.querySelector("colonnade-viewer") as { table?: { state: string } } | null)
              ?.table?.state ?? "",
          ),
        );
        await page.getByRole("gridcell").first().waitFor();
      },
    });
  },
});

/** As {@link test}, with the small tables. */
export const smallTest = test.extend({ server: async ({ small }, use) => use(small) });

/** The viewer element. */
export function viewer(page: Page): Locator {
  return page.locator("colonnade-viewer");
}
