import { test } from "@playwright/test";
test("try", async ({ page }) => {
  page.on("console", (m) => console.log("CONSOLE", m.type(), m.text().slice(0, 300)));
  page.on("pageerror", (e) => console.log("PAGEERROR", e.stack));
  for (const s of await (await page.request.get("http://127.0.0.1:8899/api/sessions?token=abc")).json()) await page.request.delete(`http://127.0.0.1:8899/api/sessions/${s.id}?token=abc`);
  await page.goto("http://127.0.0.1:8899/lab/tree/try.ipynb?token=abc");
  await page.getByText("import pandas").first().waitFor();
  await page.waitForTimeout(4000);
  await page.keyboard.press("Escape");
  await page.locator(".jp-Notebook").click();
  await page.getByRole("menuitem", { name: "Run", exact: true }).click();
  await page.getByRole("menuitem", { name: "Run All Cells", exact: true }).click();
  const t = Date.now();
  await page.getByRole("gridcell").first().waitFor({ timeout: 15000 }).catch((e) => console.log(String(e).slice(0, 200)));
  console.log("first cell after", Date.now() - t);
  for (let i = 0; i < 4; i++) {
    await page.waitForTimeout(700);
    console.log(await page.locator("colonnade-viewer").evaluate((v: any) => JSON.stringify({ n: v.table?.numRows, s: v.table?.state, p: v.table?.progress })).catch(String));
  }
  await page.screenshot({ path: "/tmp/p/lab/1.png" });
});
