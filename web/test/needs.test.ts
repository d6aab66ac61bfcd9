import { readFileSync } from "node:fs";
import data from "@mdn/browser-compat-data/forLegacyNode";
import { expect, test } from "vitest";
import leastVersions from "../src/model/least-versions.json" with { type: "json" };
import { missingFeatures } from "../src/model/needs.js";
import { NEEDED, needsText } from "../src/model/needs-text.js";

/** The features that a browser without anything lacks, in browser-compat-data. */
const NEEDS = {
  "AbortSignal.any": data.api.AbortSignal?.any_static,
  "Promise.withResolvers": data.javascript.builtins?.Promise?.withResolvers,
  "Element.checkVisibility": data.api.Element?.checkVisibility,
  "HTMLElement.showPopover": data.api.HTMLElement?.showPopover,
  "CSS light-dark()": data.css.types?.color?.["light-dark"],
};

/** The globals of a browser that has all these features except `without`. */
function browser(without?: string): Window {
  const having = (...names: string[]) =>
    Object.fromEntries(
      names.filter((name) => name !== without).map((name) => [name.split(".")[1], 0]),
    );
  const global = (statics: object, prototype: object) =>
    Object.assign(() => 0, statics, { prototype });
  return {
    AbortSignal: global(having("AbortSignal.any"), {}),
    Promise: global(having("Promise.withResolvers"), {}),
    Element: global({}, having("Element.checkVisibility")),
    HTMLElement: global({}, having("HTMLElement.showPopover")),
    CSS: { supports: () => without !== "CSS light-dark()" },
  } as unknown as Window;
}

test("what a browser lacks is found", () => {
  expect(missingFeatures(browser())).toEqual([]);
  for (const name of Object.keys(NEEDS)) expect(missingFeatures(browser(name))).toEqual([name]);
  expect(missingFeatures({} as Window)).toEqual(Object.keys(NEEDS));
});

test("what a browser lacks is said in one sentence", () => {
  expect(needsText(["CSS light-dark()"])).toBe(
    "Colonnade needs Chrome 123, Firefox 125 or Safari 17.5, or later. This browser lacks CSS light-dark().",
  );
  expect(needsText(["a", "b"])).toMatch(/ lacks a and b\.$/);
  expect(needsText(["a", "b", "c"])).toMatch(/ lacks a, b and c\.$/);
});

test("the least versions are the first that have all tested features", () => {
  for (const [name, version] of Object.entries(leastVersions)) {
    const versions = Object.values(NEEDS).map((feature) => {
      const support = feature?.__compat?.support[name as keyof typeof leastVersions];
      return Number([support].flat()[0]?.version_added);
    });
    expect(Math.max(...versions), name).toBe(Number(version));
  }
});

test("the pages name the least versions", () => {
  for (const [name, words] of [
    ["README.md", NEEDED],
    ["docs/embedding.md", NEEDED.replace(", or later", "")],
  ] as const) {
    const page = readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
    expect(page.replace(/\s+/g, " "), name).toContain(words);
  }
});
