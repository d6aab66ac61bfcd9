import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { reference } from "../build/reference.mjs";

test("docs/reference.md is what the source says", () => {
  const page = readFileSync(new URL("../../docs/reference.md", import.meta.url), "utf8");
  expect(page, "run `npm run docs`").toBe(reference());
});
