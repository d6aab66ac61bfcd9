import { chrome, firefox, safari } from "./least-versions.json";

/** The browsers that Colonnade needs, in words. */
export const NEEDED = `Chrome ${chrome}, Firefox ${firefox} or Safari ${safari}, or later`;

/** What a visitor reads whose browser lacks features. */
export function needsText(missing: readonly string[]): string {
  const [last = "", ...others] = [...missing].reverse();
  const names = others.length === 0 ? last : `${others.reverse().join(", ")} and ${last}`;
  return `Colonnade needs ${NEEDED}. This browser lacks ${names}.`;
}
