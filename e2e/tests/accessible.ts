import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** Fails for whatever axe finds in the page as it is now, or in what `narrow` makes of it. */
export async function expectAccessible(
  page: Page,
  narrow = (axe: AxeBuilder) => axe,
): Promise<void> {
  const axe = narrow(new AxeBuilder({ page }));
  const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  // In the dark, only colours are others.
  const { violations } = await (isDark ? axe.withRules("color-contrast") : axe).analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
}

/** The element alone: the page around it need not be a whole one. */
export function elementAlone(axe: AxeBuilder): AxeBuilder {
  return axe.include("colonnade-viewer").disableRules("region");
}
