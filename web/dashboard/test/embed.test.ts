import { expect, test } from "vitest";
import { PLAIN_STATE, subjectAddress } from "../src/address/address.js";
import { embedCode } from "../src/link/embed-code.js";

test("the embed code of a table is one element", () => {
  const code = embedCode(subjectAddress({ table: 'a"b' }), "http://h");
  expect(code).toContain('src="http://h/v1/tables/a%22b/rows"');
  expect(code).not.toContain("state");
});

test("the embed code sets the changed state, and no text ends its script", () => {
  const address = subjectAddress({ sql: "select '</script><b>'" });
  const sort = [{ column: "x", descending: true }];
  const code = embedCode({ ...address, state: { ...PLAIN_STATE, sort } }, "http://h");
  expect(code.match(/<\/script>/g)).toHaveLength(1);
  expect(code).toContain('viewer.state = {"sort":[{"column":"x","descending":true}]};');
});
