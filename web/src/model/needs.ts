/** Functions that the least versions of the browsers have and older ones lack. */
const FUNCTIONS = [
  "AbortSignal.any",
  "Promise.withResolvers",
  "Element.checkVisibility",
  "HTMLElement.showPopover",
];

/** The features that this browser lacks, in words. Calls only functions of ES2015, which old browsers have. */
export function missingFeatures(scope: Window = self): string[] {
  const missing = FUNCTIONS.filter((path) => {
    const [owner, name] = path.split(".") as [string, string];
    const { [owner as "Element"]: known } = scope as unknown as typeof globalThis;
    return !known || !(name in known || name in known.prototype);
  });
  const { CSS: css } = scope as unknown as typeof globalThis;
  if (!css?.supports("color", "light-dark(red,red)")) missing.push("CSS light-dark()");
  return missing;
}
