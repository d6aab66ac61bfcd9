import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { reference } from "../build/reference.mjs";

test("docs/reference.md matches the source", () => {
  const page = readFileSync(new URL("../../docs/reference.md", import.meta.url), "utf8");
  expect(page, "run `npm run docs`").toBe(reference());
});
