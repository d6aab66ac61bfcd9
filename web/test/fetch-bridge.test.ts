import { afterEach, beforeEach, expect, test } from "vitest";
import { open } from "../src/api/open.js";
import { type Fetch, fetchThrough } from "../src/http/fetch-bridge.js";
import { fetchQueryRecord } from "../src/http/query-record.js";
import { serveFetch } from "../src/http/serve-ports.js";
import { ColonnadeError } from "../src/model/errors.js";
import { ReplayServer } from "./replay.js";

const wasmSrc = new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url);
const ADDRESS = "https://rows.invalid/v1/tables/t/rows";

let server: ReplayServer;
beforeEach(async () => {
  server = new ReplayServer();
  server.record = { state: "running", rows: 300, rows_ready: 100 };
  await server.listen();
});
afterEach(() => server.close());

/** Answers an address that does not exist. */
const throughPage: Fetch = (url, init) =>
  fetch(url.replace("https://rows.invalid", server.origin), init);

test("a page answers the requests itself", async () => {
  const table = await open(ADDRESS, { fetch: throughPage, wasmSrc });
  await table.done;
  expect(table.state).toBe("complete");
  expect(table.numRows).toBe(300);
  table.close();
  // The page also reports the end.
  await expect.poll(() => server.seen.at(-1)?.method).toBe("DELETE");
});

test("other requests of the page also go to its own fetch", async () => {
  const table = await open(ADDRESS, { fetch: throughPage, wasmSrc });
  const { request } = table;
  if (request?.query === undefined) throw new Error("no Colonnade server is known to answer");
  const { signal } = new AbortController();
  const record = await fetchQueryRecord(request, request.query, signal, table.fetch ?? fetch);
  expect(record?.rows_ready).toBe(100);
  table.close();
});

test("a windowed table loads rows by number through the page", async () => {
  const table = await open(ADDRESS, { fetch: throughPage, wasmSrc, memoryBytes: 6000 });
  await table.done;
  expect(table.state).toBe("windowed");
  const [row] = await table.text({ start: 299, end: 300 });
  expect(row?.[0]).toBe("299");
  expect(server.seen.some(({ path }) => path.endsWith("/rows"))).toBe(true);
  table.close();
});

test("a broken connection is resumed, and a refusal is reported", async () => {
  server.faults = [{ kind: "fin", at: 2000 }];
  const table = await open(ADDRESS, { fetch: throughPage, wasmSrc });
  await table.done;
  expect(table.numRows).toBe(300);
  table.close();
  server.faults = [{ kind: "refuse", status: 404, code: "unknown_table" }];
  await expect(open(ADDRESS, { fetch: throughPage, wasmSrc })).rejects.toMatchObject({
    code: "unknown_table",
  });
});

test("cancelling reaches the page's own fetch", async () => {
  let aborted = 0;
  const slow: Fetch = (_, { signal }) =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => {
        aborted += 1;
        reject(signal.reason);
      });
    });
  const abort = new AbortController();
  const opening = open(ADDRESS, { fetch: slow, wasmSrc, signal: abort.signal });
  setTimeout(() => abort.abort(), 50);
  await expect(opening).rejects.toMatchObject({ code: "cancelled" });
  await expect.poll(() => aborted).toBe(1);
});

test("a response that is cancelled aborts its request, and one that is read does not", async () => {
  const { port1, port2 } = new MessageChannel();
  const signals: AbortSignal[] = [];
  serveFetch(async (_, { signal }) => {
    if (signal) signals.push(signal);
    return new Response("rows");
  }, port1);
  const fetchHere = fetchThrough(port2);
  expect(await (await fetchHere(ADDRESS, {})).text()).toBe("rows");
  await (await fetchHere(ADDRESS, {})).body?.cancel();
  await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  port1.close();
});

test("a request whose response was read leaves no port open", async () => {
  const { port1, port2 } = new MessageChannel();
  const isClosed = new Promise((resolve) => {
    port1.addEventListener("message", ({ ports: [asker] }) => {
      asker?.addEventListener("close", () => resolve(true));
    });
  });
  serveFetch(async () => new Response("rows"), port1);
  const response = await fetchThrough(port2)(ADDRESS, {});
  expect(await response.text()).toBe("rows");
  expect(await isClosed).toBe(true);
  port1.close();
});

test("what the page's own fetch or stream throws is told in its words", async () => {
  const failing =
    (thrown: unknown): Fetch =>
    () =>
      Promise.reject(thrown);
  const opened = (fetch: Fetch) => open(ADDRESS, { fetch, wasmSrc });
  await expect(opened(failing(new Error("no token")))).rejects.toMatchObject({
    code: "source_error",
    message: "no token",
  });
  await expect(opened(failing("signed out"))).rejects.toMatchObject({
    code: "source_error",
    message: "signed out",
  });
  const own = new ColonnadeError("unknown_table", "It was removed.", { hint: "Choose another." });
  await expect(opened(failing(own))).rejects.toMatchObject({ ...own.toJSON() });
  await expect(opened(failing(new TypeError("Failed to fetch")))).rejects.toMatchObject({
    code: "network_error",
    message: "Could not reach https://rows.invalid.",
    hint: "TypeError: Failed to fetch",
  });
  const stream = new ReadableStream({
    pull: (controller) => controller.error(new Error("disk is full")),
  });
  await expect(open(stream, { wasmSrc })).rejects.toMatchObject({
    code: "source_error",
    message: "disk is full",
  });
});

test("a stream of the page's own fetch that fails later is not resumed, unless its connection was lost", async () => {
  const cutWith = (thrown: Error): Fetch => {
    let isFirst = true;
    return async (url, init) => {
      const response = await throughPage(url, init);
      if (!isFirst || init.method === "DELETE" || response.body === null) return response;
      isFirst = false;
      let left = 2;
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          if (left-- > 0) controller.enqueue(chunk.slice(0, 1500));
          controller.error(thrown);
        },
      });
      return new Response(response.body.pipeThrough(cut), response);
    };
  };
  const lost = await open(ADDRESS, { fetch: cutWith(new TypeError("terminated")), wasmSrc });
  await lost.done;
  expect(lost.numRows).toBe(300);
  lost.close();
  const failed = await open(ADDRESS, { fetch: cutWith(new Error("disk is full")), wasmSrc });
  await expect(failed.done).rejects.toMatchObject({
    code: "source_error",
    message: "disk is full",
  });
  failed.close();
});

test.each([
  204, 205, 304,
])("a response of status %i, which has no body, arrives", async (status) => {
  const { port1, port2 } = new MessageChannel();
  serveFetch(async () => new Response(null, { status }), port1);
  const response = await fetchThrough(port2)(ADDRESS, {});
  expect([response.status, response.body]).toEqual([status, null]);
});

test("a response that says nothing is an error of the network", async () => {
  const { port1, port2 } = new MessageChannel();
  serveFetch(async () => Response.error(), port1);
  await expect(fetchThrough(port2)(ADDRESS, {})).rejects.toBeInstanceOf(TypeError);
});
