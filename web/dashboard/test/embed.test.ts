import { expect, test } from "vitest";
import { PLAIN_STATE, placeOf } from "../src/address/address.js";
import { embedCode } from "../src/link/embed-code.js";

test("a table is one element", () => {
  const code = embedCode(placeOf({ table: 'a"b' }), "http://h");
  expect(code).toContain('src="http://h/v1/tables/a%22b/rows"');
  expect(code).not.toContain("state");
});

test("what is changed is told, and nothing ends the script early", () => {
  const place = placeOf({ sql: "select '</script><b>'" });
  const sort = [{ column: "x", descending: true }];
  const code = embedCode({ ...place, state: { ...PLAIN_STATE, sort } }, "http://h");
  expect(code.match(/<\/script>/g)).toHaveLength(1);
  expect(code).toContain('viewer.state = {"sort":[{"column":"x","descending":true}]};');
});
