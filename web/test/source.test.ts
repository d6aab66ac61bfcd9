import { afterEach, describe, expect, test } from "vitest";
import { prepareSource } from "../src/api/source.js";

const ADDRESS = "https://data.example/rows";
const body = Object.getOwnPropertyDescriptor(Request.prototype, "body") as PropertyDescriptor;
afterEach(() => {
  Object.defineProperty(Request.prototype, "body", body);
});

/** The request that the worker sends for the page. */
async function wireOf(source: Request) {
  const { wire } = await prepareSource(source, {});
  if (wire.kind !== "url") throw new Error(`a request became a ${wire.kind}`);
  return wire;
}

// Firefox lacks it.
describe.each(["with", "without"])("in a browser %s Request.body", (has) => {
  const request = (init?: RequestInit) => {
    if (has === "without") Reflect.deleteProperty(Request.prototype, "body");
    return new Request(ADDRESS, init);
  };

  test.each(["GET", "HEAD"])("a %s request has no body", async (method) => {
    expect(await wireOf(request({ method }))).toMatchObject({ method, body: null });
  });

  test.each(["POST", "PUT"])("the body of a %s request is passed on", async (method) => {
    const wire = await wireOf(request({ method, body: "select 1" }));
    expect(wire.method).toBe(method);
    expect(new TextDecoder().decode(wire.body ?? undefined)).toBe("select 1");
  });
});
