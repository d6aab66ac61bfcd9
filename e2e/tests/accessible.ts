import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";
import { isChromium } from "./engines.js";

/** The rules of axe's default set whose results depend on colours. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/**
 * Expects that axe finds no violations in the page, in light and in dark; `narrow` restricts what axe
 * checks. Only the rules about colours can differ between the two, so only they run twice. What axe reads (roles,
 * names, colours) is the same in all engines, and takes it minutes in Firefox: it runs in Chromium alone.
 */
export async function expectAccessible(
  page: Page,
  narrow = (axe: AxeBuilder) => axe,
): Promise<void> {
  if (!isChromium(page)) return;
  await page.emulateMedia({ colorScheme: "light" });
  await expectNoViolations(narrow(axeOf(page)));
  await page.emulateMedia({ colorScheme: "dark" });
  await expectNoViolations(narrow(axeOf(page)).withRules(COLOUR_RULES));
  await page.emulateMedia({ colorScheme: null });
}

/** Axe for a page without frames of other origins ("legacy" is a page that axe need not open for them). */
function axeOf(page: Page): AxeBuilder {
  return new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ["violations"] });
}

async function expectNoViolations(axe: AxeBuilder): Promise<void> {
  const { violations } = await axe.analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
}

/** Restricts axe to the viewer element. */
export function elementAlone(axe: AxeBuilder): AxeBuilder {
  return axe.include("colonnade-viewer");
}
