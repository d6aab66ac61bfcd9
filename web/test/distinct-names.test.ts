import { expect, test } from "vitest";
import cases from "../../fixtures/distinct_names.json" with { type: "json" };
import { distinctNames } from "../src/model/distinct-names.js";

test.each(cases)("$names become $distinct", ({ names, distinct }) => {
  expect(distinctNames(names)).toEqual(distinct);
});

test("names that are distinct stay distinct when named again", () => {
  for (const { distinct } of cases) expect(distinctNames(distinct)).toEqual(distinct);
});
