import { afterEach, expect, test } from "vitest";
import { ColonnadeError } from "../src/model/errors.js";
import type { Endpoint } from "../src/rpc/endpoint.js";
import { Requester } from "../src/rpc/requester.js";
import { type Handlers, Responder } from "../src/rpc/responder.js";

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

/** A requester and a responder at the two ends of a channel. */
function connect(handlers: Partial<Handlers>) {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const endpoint = (port: MessagePort) => {
    port.start();
    return port as unknown as Endpoint;
  };
  const notices: unknown[] = [];
  const requester = new Requester(endpoint(port1), (name, data) => notices.push([name, data]));
  const responder = new Responder(endpoint(port2), handlers as Handlers);
  return { requester, responder, notices };
}

function defer() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise, resolve };
}

const window = (start: number) => ({
  start,
  end: start + 1,
  columns: new Uint32Array(),
  view: 0,
  maxChars: 0,
});

test("each request gets its own answer, in any order of names", async () => {
  const { requester } = connect({
    window: ({ start }) => ({ result: Uint8Array.of(start) }),
    stop: () => ({ result: null }),
  });
  const answers = await Promise.all([
    requester.request("window", window(1)),
    requester.request("stop", null),
    requester.request("window", window(2)),
  ]);
  expect(answers).toEqual([Uint8Array.of(1), null, Uint8Array.of(2)]);
});

test("a cancel overtakes waiting requests, which are never started", async () => {
  const begun: number[] = [];
  const { requester } = connect({
    window: ({ start }) => {
      begun.push(start);
      return { result: Uint8Array.of(start) };
    },
  });
  const controller = new AbortController();
  const { signal } = controller;
  const first = requester.request("window", window(1));
  const stale = [2, 3, 4].map((start) => requester.request("window", window(start), { signal }));
  controller.abort();
  const last = requester.request("window", window(5));
  for (const request of stale) {
    await expect(request).rejects.toMatchObject({ code: "cancelled" });
  }
  await Promise.all([first, last]);
  expect(begun).toEqual([1, 5]);
});

test("a cancel reaches a running handler", async () => {
  const aborted = defer();
  const begun = defer();
  const { requester } = connect({
    window: (_, signal) => {
      begun.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(new Error("stopped"));
        });
      });
    },
  });
  const controller = new AbortController();
  const request = requester.request("window", window(1), { signal: controller.signal });
  await begun.promise;
  controller.abort();
  await expect(request).rejects.toMatchObject({ code: "cancelled" });
  await aborted.promise;
});

test("a handler's error returns with its code and position", async () => {
  const { requester } = connect({
    window: () => {
      throw new ColonnadeError("out_of_range", "no such row", { row: 9 });
    },
  });
  await expect(requester.request("window", window(9))).rejects.toMatchObject({
    code: "out_of_range",
    row: 9,
  });
});

test("no request stays pending when the worker is gone", async () => {
  const { requester } = connect({ window: () => new Promise(() => undefined) });
  const pending = requester.request("window", window(1));
  requester.fail(new ColonnadeError("closed", "The table was closed."));
  await expect(pending).rejects.toMatchObject({ code: "closed" });
  await expect(requester.request("stop", null)).rejects.toMatchObject({ code: "closed" });
});

test("a view whose request was cancelled too late is released", async () => {
  const released = defer();
  const controller = new AbortController();
  const { requester } = connect({
    run: () => {
      controller.abort();
      return { result: { view: 7, numRows: 1, isDone: true } };
    },
    release: ({ view }) => {
      expect(view).toBe(7);
      released.resolve();
      return { result: null };
    },
  });
  const work = { kind: "filter" as const, view: 0, predicate: "" };
  const cancelled = requester.run("run", { work }, controller.signal, undefined);
  await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
  await released.promise;
});

test("after its end, nothing is answered, also not what was sent before", async () => {
  const begun: string[] = [];
  const { requester, responder } = connect({
    stop: () => {
      begun.push("stop");
      return { result: null };
    },
  });
  requester.request("stop", null).catch(() => undefined);
  responder.close();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(begun).toEqual([]);
});
