import { expect, test } from "vitest";
import { arrangedRequest } from "../src/http/arranged-request.js";
import { claimQuery } from "../src/http/query-request.js";
import { isSameArrangement } from "../src/model/arrangement.js";
import { toggledSort } from "../src/viewer/sorting.js";

const ID = "6f1c8f2e-3a5b-4c1d-9e2f-0a1b2c3d4e5f";

function source(address: string, body?: object) {
  return claimQuery({
    kind: "url",
    url: new URL(address, "http://localhost:7878").href,
    method: body === undefined ? "GET" : "POST",
    headers: [["authorization", "Bearer x"]],
    body: body === undefined ? null : new TextEncoder().encode(JSON.stringify(body)).buffer,
    credentials: "same-origin",
  });
}

const arrangement = {
  sort: [{ column: "a", descending: true }],
  filter: { op: "ge", column: "b", value: 12345678901234567890n },
} as const;
const arranged = {
  sort: [{ column: "a", descending: true }],
  filter: { op: "ge", column: "b", value: "12345678901234567890" },
};

test.each([
  ["/v1/tables/line%20item/rows", { table: "line item" }],
  ["/v1/tables/t/rows?columns=a,%20b", { table: "t", columns: ["a", "b"] }],
  [`/v1/tables/t/rows?columns=%22a,b%22&id=${ID}`, { query: ID }],
  [`/v1/tables/t/rows?filter=a%3D1&id=${ID}`, { query: ID }],
  [`/v1/tables/t/rows?limit=5&id=${ID}`, { query: ID }],
  [`/v1/query/${ID}/rows`, { query: ID }],
])("rows of %s are requested as %o", async (address, rows) => {
  const request = arrangedRequest(source(address), arrangement);
  expect(request?.url).toBe("http://localhost:7878/v1/query");
  expect(request?.method).toBe("POST");
  expect(request?.headers.get("authorization")).toBe("Bearer x");
  expect(request?.headers.get("content-type")).toBe("application/json");
  expect(await request?.json()).toEqual({ ...rows, ...arranged });
});

test("rows of a statement are requested by its id", async () => {
  const request = arrangedRequest(source("/v1/query", { sql: "select 1", id: ID }), arrangement);
  expect(await request?.json()).toEqual({ query: ID, ...arranged });
});

test("only the named columns are requested", async () => {
  const columns = ["b", "a"];
  const some = arrangedRequest(source("/v1/tables/t/rows?columns=a,b,c"), arrangement, columns);
  expect(await some?.json()).toEqual({ table: "t", columns, ...arranged });
});

test("other sources have no such request", () => {
  expect(arrangedRequest(source("/data/file.arrows"), arrangement)).toBeUndefined();
});

test("arrangements are compared by their JSON", () => {
  const other = { sort: [{ column: "a" }], filter: null };
  expect(isSameArrangement(arrangement, { ...arrangement })).toBe(true);
  expect(isSameArrangement(other, { ...other, sort: [{ column: "a", descending: false }] })).toBe(
    true,
  );
  expect(isSameArrangement(arrangement, other)).toBe(false);
});

test("a click on a header cycles through ascending, descending and none", () => {
  const once = toggledSort([{ column: "b" }, { column: "c" }], "a", false);
  expect(once).toEqual([{ column: "a", descending: false }]);
  const twice = toggledSort(once, "a", false);
  expect(twice).toEqual([{ column: "a", descending: true }]);
  expect(toggledSort(twice, "a", false)).toEqual([]);
});

test("with shift the other keys stay", () => {
  const one = [{ column: "b", descending: true }];
  const two = toggledSort(one, "a", true);
  expect(two).toEqual([...one, { column: "a", descending: false }]);
  const turned = toggledSort(two, "a", true);
  expect(turned).toEqual([...one, { column: "a", descending: true }]);
  expect(toggledSort(turned, "a", true)).toEqual(one);
  expect(toggledSort(two, "a", false)).toEqual([{ column: "a", descending: false }]);
});
