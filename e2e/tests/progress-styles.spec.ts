// The dashboard's progress bars, drawn by each engine in its own way.

import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { inCheckout } from "./server.js";

/** A script that counts the colours of a picture from `x` on, 600 px at the height `y`. */
const COUNT_COLOURS = (png: string, x: number, y: number) =>
  `(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${png}";
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(${x}, ${y}, 600, 1);
    return new Set(new Uint32Array(data.buffer)).size;
  })()`;

test("a bar of unknown length has stripes, and a half full one two colours", async ({ page }) => {
  const css = readFileSync(inCheckout("web/dashboard/src/files/tray.css"), "utf8");
  const colours = ":root { --accent: #0000ff; --line-strong: #dddddd }";
  const still = ".tray progress { animation: none !important; border-radius: 0 !important }";
  await page.setContent(`<style>${colours}${css}${still}</style><div class="tray" style="position: static; width: 640px">
    <progress></progress><br /><progress max="2" value="1"></progress></div>`);
  // Firefox takes no pictures of so low an element.
  const png = (await page.screenshot()).toString("base64");
  for (const bar of await page.getByRole("progressbar").all()) {
    const { x = 0, y = 0 } = (await bar.boundingBox()) ?? {};
    const numColours = await page.evaluate(COUNT_COLOURS(png, Math.round(x), Math.round(y) + 2));
    expect(numColours).toBeGreaterThan(1);
  }
});
