import { expect, test } from "vitest";
import { claimQuery, queryUrl, restartRequest, resumeRequest } from "../src/http/query-request.js";
import type { UrlSource } from "../src/model/wire-source.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const id = "3f2c7a9e-8d35-4f3e-9f0a-2f8a60a1c001";

function get(url: string): UrlSource {
  return { kind: "url", url, method: "GET", headers: [], body: null, credentials: "same-origin" };
}

function post(url: string, json: string): UrlSource {
  const headers: [string, string][] = [["content-type", "application/json"]];
  return { ...get(url), method: "POST", headers, body: new TextEncoder().encode(json).buffer };
}

function claimed(source: UrlSource) {
  const { query, ...request } = claimQuery(source);
  if (query === undefined) throw new Error(`${source.url} was not claimed`);
  const json = request.body === null ? "" : new TextDecoder().decode(request.body);
  return { query, request, json, params: Object.fromEntries(new URL(request.url).searchParams) };
}

test("a request for a table's rows gets an id and a linger time", () => {
  const { query, params } = claimed(get("http://h/data/v1/tables/a%20b/rows?filter=a+%3E%203"));
  expect(query).toEqual({ id: params.id, isKept: false, firstRow: 0, limit: undefined });
  expect(query.id).toMatch(UUID);
  expect(params).toEqual({ filter: "a > 3", id: query.id, linger_s: "60" });
  const other = claimed(get("http://h/v1/tables/a/rows"));
  expect(other.query.id).not.toBe(query.id);
});

test("given ids, ranges and linger times are kept", () => {
  const { query, params } = claimed(
    get(`http://h/v1/tables/a/rows?id=${id}&offset=5&limit=7&linger_s=9`),
  );
  expect(query).toEqual({ id, isKept: false, firstRow: 5, limit: 7 });
  expect(params).toEqual({ id, offset: "5", limit: "7", linger_s: "9" });
  const body = claimed(post("http://h/v1/query", `{"sql":"x","id":"${id}","offset":5}`));
  expect(body.query).toEqual({ id, isKept: false, firstRow: 5, limit: undefined });
  expect(body.json).toBe(`{"linger_s":60,"sql":"x","id":"${id}","offset":5}`);
});

test("a kept result is recognised by its address, and is not deleted", () => {
  const { query, params } = claimed(get(`http://h/v1/query/${id}/rows?offset=20`));
  expect(query).toEqual({ id, isKept: true, firstRow: 20, limit: undefined });
  expect(params).toEqual({ offset: "20", linger_s: "60" });
});

test.each([
  get("https://example.org/v1/tables/a/rows.arrows"),
  get("https://example.org/file.arrows?id=3"),
  get("https://example.org/v1/query"),
  get("https://example.org/v1/tables/a/rows?limit=some"),
  { ...get("https://example.org/v1/tables/a/rows"), method: "HEAD" },
  post("https://example.org/v1/tables/a/rows", "{}"),
  post("https://example.org/v1/query", ""),
  post("https://example.org/v1/query", "{}"),
  post("https://example.org/v1/query", "[1]"),
  post("https://example.org/v1/query", `{"sql":"x","limit":-1}`),
  post("https://example.org/v1/query", `{"sql":"x","offset":1e300}`),
])("$method $url stays as it is", (source) => {
  expect(claimQuery(source)).toBe(source);
});

test("bodies are compressed over a network, not on the same machine", () => {
  const accept = (url: string) =>
    new Headers(claimed(get(url)).request.headers).get("accept") ?? "";
  const stream = "application/vnd.apache.arrow.stream";
  for (const host of ["localhost:7878", "127.0.0.1", "[::1]:80", "a.localhost"]) {
    expect(accept(`http://${host}/v1/tables/a/rows`)).toBe(stream);
  }
  // Without a page every host is another origin, for which quotes would cost a preflight.
  expect(accept("https://localhost.example/v1/tables/a/rows")).toBe(`${stream}; codecs=lz4`);
  const own = { ...get("https://h/v1/tables/a/rows"), headers: [["accept", "x/y"]] } as UrlSource;
  expect(claimed(own).request.headers).toContainEqual(["accept", "x/y"]);
});

test("the rest is requested by id, or by the same request from a later row", () => {
  const json = `{"sql":"select \\"limit\\": 3","limit" : 100, "n":12345678901234567890}`;
  const headers: [string, string][] = [
    ["authorization", "Bearer t"],
    ["content-type", "application/json"],
  ];
  const { query, request } = claimed({ ...post("http://h/x/v1/query", json), headers });
  const rest = resumeRequest(request, query, 40);
  expect(rest).toMatchObject({ method: "GET", body: null });
  const params = "offset=40&limit=60&checksum=xxh3&linger_s=60";
  expect(rest.url).toBe(`http://h/x/v1/query/${query.id}/rows?${params}`);
  expect(rest.headers.map(([name]) => name)).toEqual(["accept", "authorization"]);

  const again = restartRequest(request, query, 40);
  expect(again).toMatchObject({ method: "POST", url: "http://h/x/v1/query" });
  const tail = json.slice(1).replace(`"limit" : 100`, `"limit":60`);
  const head = `"checksum":"xxh3","offset":40,"linger_s":60,"id":"${query.id}"`;
  expect(new TextDecoder().decode(again.body ?? new ArrayBuffer())).toBe(`{${head},${tail}`);

  const all = claimed(get("http://h/v1/tables/a/rows?offset=5&limit=7"));
  expect(restartRequest(all.request, all.query, 7).url).toMatch(/offset=12&limit=0&/);
});

test("the address of a result is derived from that of its rows", () => {
  expect(queryUrl("http://h:1/v1/tables/a%2Fb/rows?limit=3", id)).toBe(`http://h:1/v1/query/${id}`);
  expect(queryUrl("https://h/data/v1/query", id)).toBe(`https://h/data/v1/query/${id}`);
  expect(queryUrl("https://h/v1/tables/v1/rows", id)).toBe(`https://h/v1/query/${id}`);
  expect(queryUrl("https://h/file.arrows", id)).toBeUndefined();
});
