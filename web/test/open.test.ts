import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TableSource } from "../src/api/source.js";

const wasmSrc = "https://page.example/colonnade.wasm";

/** A worker that starts, and then only records its messages. */
class FakeWorker extends EventTarget {
  readonly sent: unknown[] = [];
  isEnded = false;
  constructor() {
    super();
    workers.push(this);
    queueMicrotask(() =>
      this.dispatchEvent(new MessageEvent("message", { data: { lock: undefined } })),
    );
  }
  postMessage(message: unknown): void {
    this.sent.push(message);
  }
  terminate(): void {
    this.isEnded = true;
  }
}

let workers: FakeWorker[];
beforeEach(() => {
  vi.resetModules();
  workers = [];
  vi.stubGlobal("Worker", FakeWorker);
});
afterEach(() => vi.unstubAllGlobals());

/** A request whose body never ends. */
function endlessRequest(): Request {
  const init = { method: "POST", body: new ReadableStream(), duplex: "half" };
  return new Request("https://data.example/v1/query", init);
}

const sources: [string, () => TableSource][] = [
  ["opened", () => new Uint8Array(8)],
  ["prepared", endlessRequest],
];
test.each(
  sources,
)("a table takes the worker of one that is given up while it is %s", async (_, source) => {
  const { open } = await import("../src/api/open.js");
  const [first, second] = [new AbortController(), new AbortController()];
  open(source(), { wasmSrc, signal: first.signal }).catch(() => undefined);
  const port = expect.any(MessagePort);
  await expect.poll(() => workers[0]?.sent).toEqual([port]);
  // Time for the request to open it to be sent, if it gets so far.
  await new Promise((resolve) => setTimeout(resolve));
  first.abort();
  open(new Uint8Array(8), { wasmSrc, signal: second.signal }).catch(() => undefined);
  await expect.poll(() => workers[0]?.sent).toEqual([port, "idle", port]);
  expect(workers).toHaveLength(1);
  second.abort();
});

test("a table takes the idle worker of one that is opened and given up in the same task", async () => {
  const { open } = await import("../src/api/open.js");
  const begin = () => {
    const opening = new AbortController();
    open(new Uint8Array(8), { wasmSrc, signal: opening.signal }).catch(() => undefined);
    return opening;
  };
  const port = expect.any(MessagePort);
  const first = begin();
  await expect.poll(() => workers[0]?.sent).toEqual([port]);
  first.abort();
  begin().abort();
  const third = begin();
  await expect.poll(() => workers[0]?.sent).toEqual([port, "idle", port, "idle", port]);
  expect(workers).toHaveLength(1);
  third.abort();
});

test.each([
  [256, false],
  [257, true],
])("an idle worker of %i MiB is ended: %s", async (idleMib, isEnded) => {
  const { open } = await import("../src/api/open.js");
  const port = expect.any(MessagePort);
  const opening = new AbortController();
  open(new Uint8Array(8), { wasmSrc, signal: opening.signal }).catch(() => undefined);
  await expect.poll(() => workers[0]?.sent).toEqual([port]);
  opening.abort();
  await expect.poll(() => workers[0]?.sent).toEqual([port, "idle"]);
  const data = { idleBytes: idleMib * 2 ** 20 };
  workers[0]?.dispatchEvent(new MessageEvent("message", { data }));
  expect(workers[0]?.isEnded).toBe(isEnded);
});

test("a large worker is used again if a table takes it at once", async () => {
  const { open } = await import("../src/api/open.js");
  const port = expect.any(MessagePort);
  const [first, second] = [new AbortController(), new AbortController()];
  open(new Uint8Array(8), { wasmSrc, signal: first.signal }).catch(() => undefined);
  await expect.poll(() => workers[0]?.sent).toEqual([port]);
  first.abort();
  open(new Uint8Array(8), { wasmSrc, signal: second.signal }).catch(() => undefined);
  await expect.poll(() => workers[0]?.sent).toEqual([port, "idle", port]);
  workers[0]?.dispatchEvent(new MessageEvent("message", { data: { idleBytes: 2 ** 30 } }));
  expect(workers[0]?.isEnded).toBe(false);
  second.abort();
});

test("a worker that never says that it is ready is given up, and a table is read without it", async () => {
  vi.useFakeTimers();
  try {
    class SilentWorker extends FakeWorker {
      override dispatchEvent(event: Event): boolean {
        return event.type !== "message" && super.dispatchEvent(event);
      }
    }
    vi.stubGlobal("Worker", SilentWorker);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { open } = await import("../src/api/open.js");
    const opening = new AbortController();
    open(new Uint8Array(8), { wasmSrc, signal: opening.signal }).catch(() => undefined);
    await vi.advanceTimersByTimeAsync(59_000);
    const [worker] = workers as SilentWorker[];
    expect(worker?.isEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(5000);
    expect(worker?.isEnded).toBe(true);
    vi.useRealTimers();
    const because = "its script did not start within 60 s";
    await expect.poll(() => warn.mock.calls.flat().join()).toContain(because);
    opening.abort();
  } finally {
    vi.useRealTimers();
  }
});

/** A worker whose script has yet to run. */
class StartingWorker extends FakeWorker {
  override dispatchEvent(event: Event): boolean {
    return !("lock" in ((event as MessageEvent).data ?? {})) && super.dispatchEvent(event);
  }
}

test("a worker is asked before it runs, and gets the module apart", async () => {
  vi.stubGlobal("Worker", StartingWorker);
  const { open } = await import("../src/api/open.js");
  const opening = new AbortController();
  const { signal } = opening;
  open("https://data.example/rows", { wasmSrc, signal }).catch(() => undefined);
  await expect.poll(() => workers[0]?.sent).toHaveLength(1);
  const names: string[] = [];
  const port = workers[0]?.sent[0] as MessagePort;
  port.onmessage = ({ data }: MessageEvent<{ name: string }>) => names.push(data.name);
  await expect.poll(() => names.toSorted()).toEqual(["module", "open"]);
  opening.abort();
});

test("what can be read only once is left alone until a worker runs, or is read without one", async () => {
  vi.stubGlobal("Worker", StartingWorker);
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { open } = await import("../src/api/open.js");
  const stream = new ReadableStream();
  const opening = new AbortController();
  open(stream, { wasmSrc, signal: opening.signal }).catch(() => undefined);
  await expect.poll(() => workers).toHaveLength(1);
  await new Promise((resolve) => setTimeout(resolve));
  expect(stream.locked).toBe(false);
  workers[0]?.dispatchEvent(Object.assign(new Event("error"), { message: "forbidden" }));
  await expect.poll(() => stream.locked).toBe(true);
  expect(warn.mock.calls.flat().join()).toContain("Could not start a worker: forbidden");
  opening.abort();
});

test("a table that waits for its worker can be cancelled at once", async () => {
  vi.stubGlobal("Worker", StartingWorker);
  const { open } = await import("../src/api/open.js");
  const opening = new AbortController();
  const opened = open(new ReadableStream(), { wasmSrc, signal: opening.signal });
  await expect.poll(() => workers).toHaveLength(1);
  opening.abort();
  await expect(opened).rejects.toMatchObject({ code: "cancelled" });
});

test("an address of the module that is none ends the opening, and the worker can be used again", async () => {
  vi.stubGlobal("Worker", StartingWorker);
  const { open } = await import("../src/api/open.js");
  const opened = open("https://data.example/rows", { wasmSrc: "https://[" });
  await expect(opened).rejects.toThrow("Invalid URL");
  expect(workers[0]?.sent).toEqual([expect.any(MessagePort), "idle"]);
});

test("a table whose worker has ended takes nothing of the page's memory", async () => {
  const { open } = await import("../src/api/open.js");
  const { MemoryShare, setPageMemory } = await import("../src/api/page-memory.js");
  const bytes = 2 ** 20;
  setPageMemory(bytes);
  const opening = open(new Uint8Array(8), { wasmSrc });
  await expect.poll(() => workers[0]?.sent).toHaveLength(1);
  const port = workers[0]?.sent[0] as MessagePort;
  const opened = {
    schema: { fields: [], metadata: {} },
    progress: { state: "streaming", rows: 0 },
  };
  port.onmessage = ({ data: { name, id } }) => {
    if (name === "open") port.postMessage({ type: "result", id, result: opened });
  };
  const table = await opening;
  table.done.catch(() => undefined);
  const share = new MemoryShare(bytes);
  expect(share.grow(bytes)).toBeLessThan(bytes);
  port.postMessage({ type: "notice", name: "crash", data: { code: "worker_lost", message: "" } });
  await expect.poll(() => table.state).toBe("failed");
  expect(share.grow(bytes)).toBe(bytes);
  share.close();
  table.close();
});
