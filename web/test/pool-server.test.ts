import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TableWorker } from "../src/api/worker-lease.js";
import type { ConnectionSlot } from "../src/http/connection-pool.js";
import type { Message } from "../src/rpc/messages.js";

const url = "https://data.example/v1/tables/t/rows";
let others: ConnectionSlot[];

beforeEach(async () => {
  vi.resetModules();
  vi.stubGlobal("location", { href: url });
  const page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
  vi.stubGlobal("dispatchEvent", page.dispatchEvent.bind(page));
  const { poolOf } = await import("../src/http/connection-pool.js");
  const request = {
    priority: "stream",
    hasRows: false,
    onGrant: () => {},
    onYield: () => {},
  } as const;
  others = Array.from({ length: 4 }, () => poolOf(url).request(request));
});
afterEach(() => vi.unstubAllGlobals());

/** A worker that only records its messages. */
class FakeWorker extends EventTarget {
  readonly sent: Message[] = [];
  postMessage(message: Message): void {
    this.sent.push(message);
  }
  release(): void {}
  terminate(): void {}
}

/** A table that waits for its first connection. */
async function startTable(signal?: AbortSignal) {
  const { Table } = await import("../src/api/table.js");
  const worker = new FakeWorker();
  const headers: [string, string][] = [];
  const request = { method: "GET", headers, body: null, credentials: "omit" } as const;
  const prepared = { wire: { kind: "url", url, ...request } as const, transfer: [] };
  const wasm = Promise.resolve(undefined);
  const options = { signal, memoryBytes: 1, totalRows: undefined, wasm };
  const opened = Table.start(worker as unknown as TableWorker, prepared, options);
  opened.catch(() => undefined);
  return { worker, opened };
}

/** The names of the worker's requests. */
function asked({ sent }: FakeWorker): string[] {
  return sent.map((message) => (message.type === "request" ? message.name : message.type));
}

test("a worker that fails while its table waits for a connection ends the wait", async () => {
  const { worker, opened } = await startTable();
  const error = { code: "decoder_crashed", message: "The decoder stopped." };
  const data: Message = { type: "notice", name: "crash", data: error };
  worker.dispatchEvent(new MessageEvent("message", { data }));
  await expect(opened).rejects.toMatchObject({ code: "decoder_crashed" });
});

test("a page left while a table waits does not open it on return", async () => {
  const { worker, opened } = await startTable();
  globalThis.dispatchEvent(new Event("pagehide"));
  for (const other of others) other.release();
  await expect(opened).rejects.toMatchObject({ code: "cancelled" });
  expect(asked(worker)).not.toContain("open");
});

test("an aborted table gives up its turn", async () => {
  const controller = new AbortController();
  const { opened } = await startTable(controller.signal);
  controller.abort();
  await expect(opened).rejects.toMatchObject({ code: "cancelled" });
  const next = await startTable();
  others[0]?.release();
  await expect.poll(() => asked(next.worker)).toContain("open");
});
