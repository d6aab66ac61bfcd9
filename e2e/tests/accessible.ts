import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** The rules of axe's default set whose results depend on colours. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/**
 * Expects that axe finds no violations in the page, in light and in dark; `narrow` restricts what axe
 * checks. Only the rules about colours can differ between the two, so only they run twice.
 */
export async function expectAccessible(
  page: Page,
  narrow = (axe: AxeBuilder) => axe,
): Promise<void> {
  await page.emulateMedia({ colorScheme: "light" });
  await expectNoViolations(narrow(axeOf(page)));
  await page.emulateMedia({ colorScheme: "dark" });
  await expectNoViolations(narrow(axeOf(page)).withRules(COLOUR_RULES));
  await page.emulateMedia({ colorScheme: null });
}

const { COLONNADE_FULL: isFull } = process.env;

/** Rows of the grid from the sixth on, which look as the first ones and have the same roles. */
const LATER_ROWS = "[role=row]:nth-of-type(n+6)";

/** Axe for pages without frames of other origins; in its legacy mode, axe opens no page of its own for them. */
function axeOf(page: Page): AxeBuilder {
  const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ["violations"] });
  return isFull ? axe : axe.exclude([["colonnade-viewer", LATER_ROWS]]);
}

async function expectNoViolations(axe: AxeBuilder): Promise<void> {
  const { violations } = await axe.analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
}

/** Restricts axe to the viewer element. */
export function elementAlone(axe: AxeBuilder): AxeBuilder {
  return axe.include("colonnade-viewer");
}
