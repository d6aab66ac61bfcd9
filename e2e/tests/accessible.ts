import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** Fails for whatever axe finds in the page as it is now, or in what `narrow` makes of it. */
export async function expectAccessible(
  page: Page,
  narrow = (axe: AxeBuilder) => axe,
): Promise<void> {
  const { violations } = await narrow(new AxeBuilder({ page })).analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
}

/** What is in the element alone. */
export function elementAlone(axe: AxeBuilder): AxeBuilder {
  return axe.include("colonnade-viewer");
}
