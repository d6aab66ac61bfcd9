import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** Expects that axe finds no violations in the page; `narrow` restricts what axe checks. */
export async function expectAccessible(
  page: Page,
  narrow = (axe: AxeBuilder) => axe,
): Promise<void> {
  const { violations } = await narrow(new AxeBuilder({ page })).analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
}

/** Restricts axe to the viewer element. */
export function elementAlone(axe: AxeBuilder): AxeBuilder {
  return axe.include("colonnade-viewer");
}
