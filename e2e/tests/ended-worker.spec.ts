// A worker that the browser ends, as it may when memory is short.

import { expect, goToRow, test, viewer } from "./viewer.js";

/** The package's worker, which ends without a word to the page. */
const ENDING = 'import "/worker.js"; new BroadcastChannel("end").onmessage = () => close();';

test("a table whose worker ended fails, and leaves no call pending", async ({
  page,
  pages,
  stage,
}) => {
  pages.pages["/ending.js"] = ENDING;
  await stage.show("/v1/tables/lineitem/rows?limit=50000", { "worker-src": "/ending.js" });
  await page.evaluate(() => new BroadcastChannel("end").postMessage(null));
  const code = await viewer(page).evaluate(async (element) => {
    const { table } = element as unknown as { table: import("colonnade").Table };
    // Requests are sent until one finds that there is no worker.
    return table.sort([{ column: "l_comment" }]).then(
      () => "sorted",
      (error: { code: string }) => error.code,
    );
  });
  expect(code).toBe("worker_failed");
  await expect(page.getByRole("alert")).toContainText("The worker stopped");
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(page.getByRole("status")).toContainText("Complete: 50,000 rows");
  await goToRow(page, 49_000);
  await expect(page.getByRole("row", { name: /./ }).last()).toBeVisible();
});
