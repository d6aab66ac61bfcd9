import { afterEach, expect, test, vi } from "vitest";
import { minimal, openBody } from "../src/http/body.js";
import type { UrlSource } from "../src/model/wire-source.js";

const SOURCE: UrlSource = {
  kind: "url",
  url: "https://data.example/rows",
  method: "GET",
  headers: [],
  body: null,
  credentials: "same-origin",
};

afterEach(() => vi.unstubAllGlobals());

test("an answer without a body is an error, unless only the begin of a result was requested", async () => {
  vi.stubGlobal("fetch", async () => new Response(null, { status: 204 }));
  const { signal } = new AbortController();
  await expect(openBody(SOURCE, signal)).rejects.toMatchObject({ code: "empty_body" });
  expect(await openBody(minimal(SOURCE), signal)).toMatchObject({ isMinimal: true });
});
