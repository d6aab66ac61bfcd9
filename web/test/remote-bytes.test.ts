// The bytes of files at addresses whose hosts behave in all the ways that hosts do. Real bytes go over real
// sockets; only the waits between two tries are shortened.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { serveFetch } from "../src/http/serve-ports.js";
import { ColonnadeError } from "../src/model/errors.js";
import type { FileSource } from "../src/model/file-source.js";
import { RemoteBytes } from "../src/reader/remote-bytes.js";

type RemoteFile = Extract<FileSource, { kind: "remote" }>;

/** A request as the host saw it. */
interface Seen {
  method: string;
  range: string | undefined;
  headers: IncomingMessage["headers"];
  /** Whether the connection was closed before the answer was complete. */
  isCut: boolean;
}

/** What a host of the page's own origin is asked for first. */
const TAIL_BYTES = 1000;

/** Bytes of which no two short ranges are equal. */
const contentOf = (numBytes: number, first = 0) =>
  Uint8Array.from({ length: numBytes }, (_, index) => first + index + 7 * (index >> 8));

/** A host of one file. Its switches say how it answers the next requests. */
class Host {
  content = contentOf(5000);
  etag: string | undefined = '"first"';
  lastModified: string | undefined;
  encoding: string | undefined;
  sendsRanges = true;
  sendsLength = true;
  /** The length that it claims, if it is another one than the content's. */
  claimed: number | undefined;
  /** The status with which it refuses HEAD. */
  headStatus: number | undefined;
  /** The answers to the next requests, instead of the file. */
  refusals: { status: number; retryAfter?: string }[] = [];
  /** The answer to every request, instead of the file. */
  alwaysRefuses: number | undefined;
  contentRange: ((start: number, end: number) => string) | undefined;
  /** Changes a body. */
  change: (body: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> = (body) => body;
  /** After so many bytes of a body the connection is destroyed, or nothing follows. */
  breaksAt: number | undefined;
  stallsAt: number | undefined;
  /** Whether bodies are sent in pieces that never end, until their reader goes away. */
  isEndless = false;
  readonly seen: Seen[] = [];
  readonly #server: Server = createServer((request, response) => this.#answer(request, response));

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get asked(): string[] {
    return this.seen.map(({ method, range }) => (range ? `${method} ${range}` : method));
  }

  file(more: Partial<RemoteFile> = {}): RemoteFile {
    const url = `${this.origin}/t.parquet`;
    return { kind: "remote", url, headers: [], credentials: "same-origin", ...more };
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = "", headers } = request;
    const seen = { method, range: headers.range, headers, isCut: false };
    this.seen.push(seen);
    response.on("close", () => {
      seen.isCut = !response.writableFinished;
    });
    const isHead = method === "HEAD";
    const refusal = this.#refusal(isHead);
    if (refusal !== undefined) {
      const { status, retryAfter } = refusal;
      response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter });
      response.end(isHead ? undefined : "refused");
      return;
    }
    const total = this.claimed ?? this.content.length;
    if (this.etag !== undefined) response.setHeader("etag", this.etag);
    if (this.lastModified !== undefined) response.setHeader("last-modified", this.lastModified);
    if (this.encoding !== undefined) response.setHeader("content-encoding", this.encoding);
    const asked = /^bytes=(\d*)-(\d+)$/.exec(headers.range ?? "");
    let body = this.content;
    if (asked !== null && this.sendsRanges) {
      const { length } = this.content;
      const [first, last] = [asked[1], Number(asked[2])];
      const [start, end] =
        first === "" ? [Math.max(0, length - last), length] : [Number(first), last + 1];
      body = this.change(this.content.slice(start, end));
      const sent = this.contentRange?.(start, end) ?? `bytes ${start}-${end - 1}/${total}`;
      response.statusCode = 206;
      response.setHeader("content-range", sent);
      response.setHeader("content-length", body.length);
    } else if (this.sendsLength) {
      response.setHeader("content-length", total);
    }
    // Otherwise Node would add the length.
    if (!this.sendsLength) response.flushHeaders();
    if (isHead) response.end();
    else if (this.isEndless) this.#sendForEver(response);
    else this.#send(response, body);
  }

  #refusal(isHead: boolean): { status: number; retryAfter?: string } | undefined {
    if (this.alwaysRefuses !== undefined) return { status: this.alwaysRefuses };
    if (isHead && this.headStatus !== undefined) return { status: this.headStatus };
    return this.refusals.shift();
  }

  #send(response: ServerResponse, body: Uint8Array): void {
    const { breaksAt, stallsAt } = this;
    if (breaksAt !== undefined) {
      response.write(body.subarray(0, breaksAt), () => {
        setTimeout(() => response.destroy(), 20);
      });
    } else if (stallsAt !== undefined) {
      response.write(body.subarray(0, stallsAt));
    } else {
      response.end(body);
    }
  }

  #sendForEver(response: ServerResponse): void {
    const piece = new Uint8Array(16 << 10);
    const timer = setInterval(() => response.write(piece), 1);
    response.on("close", () => clearInterval(timer));
  }
}

let host: Host;
let stop: AbortController;
beforeEach(async () => {
  host = new Host();
  stop = new AbortController();
  await host.listen();
});
afterEach(() => {
  vi.unstubAllGlobals();
  stop.abort();
  host.close();
});

const opened = (more?: Partial<RemoteFile>) =>
  RemoteBytes.open(host.file(more), TAIL_BYTES, stop.signal);
const read = (bytes: RemoteBytes, start: number, end: number) =>
  bytes.read(start, end, stop.signal);

/** The error of work that fails. */
async function errorOf(work: Promise<unknown>): Promise<ColonnadeError> {
  const thrown = await work.then(
    () => new Error("it succeeded"),
    (reason: unknown) => reason,
  );
  expect(thrown).toBeInstanceOf(ColonnadeError);
  return thrown as ColonnadeError;
}

/** Shortens waits a hundredfold. Returns how long they would be. */
function shortenWaits(): number[] {
  const waits: number[] = [];
  const { setTimeout } = globalThis;
  vi.stubGlobal("setTimeout", (work: () => void, ms = 0, ...args: []) => {
    // Node's own timers for connections have arguments.
    if (args.length > 0) return setTimeout(work, ms, ...args);
    waits.push(ms);
    return setTimeout(work, ms / 100);
  });
  return waits;
}

test("the length comes from HEAD, and ranges are requested exactly", async () => {
  const bytes = await opened();
  expect(bytes.size).toBe(5000);
  expect(bytes.warning).toBeUndefined();
  expect(await read(bytes, 4992, 5000)).toEqual(host.content.subarray(4992));
  expect(await read(bytes, 0, 1)).toEqual(host.content.subarray(0, 1));
  const many = await Promise.all([read(bytes, 0, 300), read(bytes, 300, 4000)]);
  expect(many).toEqual([host.content.subarray(0, 300), host.content.subarray(300, 4000)]);
  expect(host.asked.slice(0, 3)).toEqual(["HEAD", "GET bytes=4992-4999", "GET bytes=0-0"]);
  expect(host.asked.slice(3).sort()).toEqual(["GET bytes=0-299", "GET bytes=300-3999"]);
});

test.each([
  403, 405, 501,
])("a host that refuses HEAD with %i is asked with a GET that is cancelled", async (status) => {
  host.headStatus = status;
  host.isEndless = true;
  host.claimed = 2 ** 30;
  const bytes = await opened();
  expect(bytes.size).toBe(2 ** 30);
  expect(host.asked).toEqual(["HEAD", "GET"]);
  await expect.poll(() => host.seen[1]?.isCut).toBe(true);
  host.isEndless = false;
  expect(await read(bytes, 10, 20)).toEqual(host.content.subarray(10, 20));
});

test("a small file of a host that ignores ranges is read whole, once", async () => {
  host.sendsRanges = false;
  const bytes = await opened();
  expect(await read(bytes, 100, 110)).toEqual(host.content.subarray(100, 110));
  expect(bytes.warning).toBe("no_ranges");
  expect(await read(bytes, 4000, 5000)).toEqual(host.content.subarray(4000, 5000));
  expect(host.asked).toEqual(["HEAD", "GET bytes=100-109"]);
});

test("several requests that are answered with the whole file share it", async () => {
  host.sendsRanges = false;
  host.content = contentOf(3 << 20);
  const bytes = await opened();
  const ranges = [10, 20, 30, 40].map((start) => read(bytes, start, start + 10));
  for (const [index, part] of (await Promise.all(ranges)).entries()) {
    expect(part).toEqual(host.content.subarray(10 * index + 10, 10 * index + 20));
  }
});

test("a whole file is read again if who read it cancelled", async () => {
  host.sendsRanges = false;
  host.stallsAt = 1000;
  const bytes = await opened();
  const cancelled = new AbortController();
  const reading = bytes.read(0, 10, cancelled.signal);
  await expect.poll(() => host.seen.length).toBe(2);
  setTimeout(() => cancelled.abort(), 50);
  await expect(reading).rejects.toMatchObject({ name: "AbortError" });
  host.stallsAt = undefined;
  expect(await read(bytes, 0, 10)).toEqual(host.content.subarray(0, 10));
});

test("a cut in a whole file does not end all later reads", async () => {
  host.sendsRanges = false;
  host.breaksAt = 1000;
  const bytes = await opened();
  await expect(read(bytes, 0, 10)).rejects.toThrow();
  host.breaksAt = undefined;
  expect(await read(bytes, 0, 10)).toEqual(host.content.subarray(0, 10));
});

test("who cancels does not end the read of another who waits for the same whole file", async () => {
  host.sendsRanges = false;
  host.stallsAt = 1000;
  const bytes = await opened();
  const cancelled = new AbortController();
  const first = bytes.read(0, 10, cancelled.signal);
  first.catch(() => undefined);
  await expect.poll(() => host.seen.length).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const second = read(bytes, 10, 20);
  second.catch(() => undefined);
  host.stallsAt = undefined;
  cancelled.abort();
  expect(await second).toEqual(host.content.subarray(10, 20));
});

test("who waits for a whole file that another reads can cancel", async () => {
  host.sendsRanges = false;
  host.stallsAt = 1000;
  const bytes = await opened();
  const first = read(bytes, 0, 10);
  first.catch(() => undefined);
  await expect.poll(() => host.seen.length).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const cancelled = new AbortController();
  const second = bytes.read(10, 20, cancelled.signal);
  second.catch(() => undefined);
  cancelled.abort();
  const waits = new Promise((resolve) => setTimeout(resolve, 500, "waits"));
  await expect(Promise.race([second, waits])).rejects.toMatchObject({ name: "AbortError" });
});

test("a large file of a host that ignores ranges is refused, and its body is not read", async () => {
  host.sendsRanges = false;
  host.isEndless = true;
  host.claimed = 64 * 1024 * 1024 + 1;
  const bytes = await opened();
  const error = await errorOf(read(bytes, 0, 10));
  expect(error).toMatchObject({
    code: "no_ranges",
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ does not send parts of a file.* 68 MB\.$/),
  });
  await expect.poll(() => host.seen[1]?.isCut).toBe(true);
});

test("a file that is stored with a Content-Encoding is refused", async () => {
  host.encoding = "gzip";
  const error = await errorOf(opened());
  expect(error).toMatchObject({
    code: "compressed_file",
    message: expect.stringContaining("Content-Encoding: gzip"),
  });
  host.encoding = "identity";
  expect((await opened()).size).toBe(5000);
});

test("a host that does not say the length is an error", async () => {
  host.sendsLength = false;
  expect(await errorOf(opened())).toMatchObject({ code: "unknown_length" });
  expect(host.asked).toEqual(["HEAD", "GET"]);
});

test.each([
  [401, "wants to know who asks"],
  [403, "does not allow this page to read the file"],
  [404, "does not have the file"],
  [410, "no longer has the file"],
  [418, "does not send the file"],
])("status %i is told in words", async (status, words) => {
  host.alwaysRefuses = status;
  const name = host.origin.slice("http://".length);
  expect(await errorOf(opened())).toMatchObject({
    code: "http_error",
    status,
    message: `${name} ${words} (status ${status}).`,
    hint: expect.any(String),
  });
  host.alwaysRefuses = undefined;
  const bytes = await opened();
  host.alwaysRefuses = status;
  expect(await errorOf(read(bytes, 0, 10))).toMatchObject({ code: "http_error", status });
});

test("status 416 says that the file has become shorter", async () => {
  const bytes = await opened();
  host.alwaysRefuses = 416;
  expect(await errorOf(read(bytes, 4000, 5000))).toMatchObject({ code: "source_changed" });
});

test("a host that is busy is asked again, as late as it asks for", async () => {
  const waits = shortenWaits();
  host.refusals = [{ status: 429, retryAfter: "3" }];
  const bytes = await opened();
  expect(waits).toContain(3000);
  host.refusals = [{ status: 503 }, { status: 429, retryAfter: "Wed, 21 Oct 2015 07:28:00 GMT" }];
  expect(await read(bytes, 0, 10)).toEqual(host.content.subarray(0, 10));
  expect(waits).toContain(250);
  expect(waits).toContain(500);
  host.refusals = [{ status: 503, retryAfter: "86400" }];
  expect(await read(bytes, 10, 20)).toEqual(host.content.subarray(10, 20));
  expect(Math.max(...waits.filter((ms) => ms < 60_000))).toBe(10_000);
  expect(host.asked.filter((asked) => asked === "GET bytes=0-9")).toHaveLength(3);
});

test("a host that fails for ever is given up, in words", async () => {
  shortenWaits();
  host.alwaysRefuses = 500;
  expect(await errorOf(opened())).toMatchObject({
    code: "http_error",
    status: 500,
    message: expect.stringContaining("cannot answer at the moment (status 500)"),
  });
  expect(host.seen.length).toBeLessThanOrEqual(10);
  host.alwaysRefuses = 429;
  expect(await errorOf(opened())).toMatchObject({
    status: 429,
    message: expect.stringContaining("refuses further requests for a while"),
  });
});

test("a host that cannot be reached is an error of the network", async () => {
  const file = host.file();
  host.close();
  const error = await errorOf(RemoteBytes.open(file, TAIL_BYTES, stop.signal));
  expect(error).toMatchObject({
    code: "network_error",
    message: `Could not reach ${new URL(file.url).origin}.`,
  });
});

test("a connection that is destroyed in the middle of a body is an error, and later reads work", async () => {
  const bytes = await opened();
  host.breaksAt = 100;
  const thrown = await read(bytes, 0, 1000).catch((reason: unknown) => reason);
  const isLost =
    thrown instanceof TypeError ||
    (thrown instanceof ColonnadeError && thrown.code === "network_error");
  expect(isLost, String(thrown)).toBe(true);
  host.breaksAt = undefined;
  expect(await read(bytes, 0, 1000)).toEqual(host.content.subarray(0, 1000));
});

test.each([
  "etag",
  "lastModified",
  "total",
])("another %s means that the file has changed", async (what) => {
  host.lastModified = "Wed, 21 Oct 2015 07:28:00 GMT";
  const bytes = await opened();
  expect(await read(bytes, 0, 10)).toEqual(host.content.subarray(0, 10));
  host.content = contentOf(what === "total" ? 6000 : 5000, 100);
  if (what === "etag") host.etag = '"second"';
  if (what === "lastModified") host.lastModified = "Thu, 22 Oct 2015 07:28:00 GMT";
  for (const end of [10, 20]) {
    const error = await errorOf(read(bytes, 0, end));
    expect(error).toMatchObject({ code: "source_changed", hint: "Open it again." });
  }
});

test("a whole file that has changed is noticed too", async () => {
  host.sendsRanges = false;
  const bytes = await opened();
  host.etag = '"second"';
  host.content = contentOf(5000, 100);
  expect(await errorOf(read(bytes, 0, 10))).toMatchObject({ code: "source_changed" });
});

test("a file that changes is noticed if only the answers with bytes identify it", async () => {
  host.etag = undefined;
  const bytes = await opened();
  host.etag = '"first"';
  expect(await read(bytes, 0, 10)).toEqual(host.content.subarray(0, 10));
  host.etag = '"second"';
  host.content = contentOf(5000, 100);
  expect(await errorOf(read(bytes, 10, 20))).toMatchObject({ code: "source_changed" });
});

test("a file without anything that identifies it has a warning", async () => {
  host.etag = undefined;
  expect((await opened()).warning).toBe("unidentified_file");
  host.lastModified = "Wed, 21 Oct 2015 07:28:00 GMT";
  expect((await opened()).warning).toBeUndefined();
  host.lastModified = undefined;
  host.headStatus = 403;
  expect((await opened()).warning).toBe("unidentified_file");
});

test("other bytes than requested are an error", async () => {
  const bytes = await opened();
  host.contentRange = (start, end) => `bytes ${start + 1}-${end}/5000`;
  expect(await errorOf(read(bytes, 0, 10))).toMatchObject({ code: "network_error" });
  host.contentRange = (start, end) => `bytes ${start}-${end}/5000`;
  expect(await errorOf(read(bytes, 0, 10))).toMatchObject({ code: "network_error" });
  host.contentRange = (start, end) => `bytes ${start}-${end - 1}/*`;
  expect(await read(bytes, 0, 10)).toEqual(host.content.subarray(0, 10));
  host.contentRange = undefined;
  host.change = (body) => body.slice(1);
  expect(await errorOf(read(bytes, 0, 10))).toMatchObject({
    code: "network_error",
    message: "The host sent 9 bytes where bytes 0 to 9 were requested.",
  });
  host.change = (body) => Uint8Array.of(...body, 0);
  expect(await errorOf(read(bytes, 0, 10))).toMatchObject({ code: "network_error" });
});

test("aborting ends a request, and later reads work", async () => {
  const bytes = await opened();
  host.stallsAt = 5;
  const cancelled = new AbortController();
  // More than the connections that a browser opens to an origin.
  const readings = Array.from({ length: 8 }, (_, index) =>
    bytes.read(index, index + 100, cancelled.signal),
  );
  const ends = Promise.allSettled(readings);
  await expect.poll(() => host.seen.length).toBeGreaterThanOrEqual(5);
  cancelled.abort();
  for (const end of await ends) {
    expect(end).toMatchObject({ status: "rejected", reason: { name: "AbortError" } });
  }
  await expect.poll(() => host.seen.slice(1).every(({ isCut }) => isCut)).toBe(true);
  host.stallsAt = undefined;
  expect(await read(bytes, 0, 10)).toEqual(host.content.subarray(0, 10));
});

test("in a browser, slots of the pool are free again after each end of a read", async () => {
  // With a location, an origin has four connections for streams.
  vi.stubGlobal("location", { origin: "https://page.example" });
  const bytes = await opened();
  for (let turn = 0; turn < 2; turn++) {
    host.stallsAt = 5;
    const cancelled = new AbortController();
    const before = host.seen.length;
    const readings = Array.from({ length: 8 }, (_, index) =>
      bytes.read(index, index + 100, cancelled.signal),
    );
    const ends = Promise.allSettled(readings);
    await expect.poll(() => host.seen.length - before).toBe(4);
    cancelled.abort();
    expect((await ends).every(({ status }) => status === "rejected")).toBe(true);
    host.stallsAt = undefined;
    host.breaksAt = 5;
    const broken = Array.from({ length: 8 }, (_, index) => read(bytes, index, index + 100));
    const faults = await Promise.allSettled(broken);
    expect(faults.every(({ status }) => status === "rejected")).toBe(true);
    host.breaksAt = undefined;
  }
  const aborted = bytes.read(0, 10, AbortSignal.abort());
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  const readings = Array.from({ length: 8 }, (_, index) => read(bytes, index, index + 100));
  expect(await Promise.all(readings)).toHaveLength(8);
});

test("aborting ends the wait for a host that is busy", async () => {
  host.alwaysRefuses = 503;
  const opening = opened();
  opening.catch(() => undefined);
  await expect.poll(() => host.seen.length).toBeGreaterThan(0);
  stop.abort();
  await expect(opening).rejects.toMatchObject({ name: "AbortError" });
  const numSeen = host.seen.length;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(host.seen.length).toBe(numSeen);
});

test("headers and credentials reach the host with every request", async () => {
  const sent: (RequestCredentials | undefined)[] = [];
  const browserFetch = fetch;
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    sent.push(init.credentials);
    return browserFetch(url, init);
  });
  host.headStatus = 405;
  const bytes = await opened({
    headers: [["authorization", "Bearer token"]],
    credentials: "include",
  });
  await read(bytes, 0, 10);
  expect(host.seen.map(({ headers }) => headers.authorization)).toEqual(
    Array(3).fill("Bearer token"),
  );
  expect(sent).toEqual(Array(3).fill("include"));
});

test("a page's own fetch is asked instead of the browser's", async () => {
  const { port1, port2 } = new MessageChannel();
  const own: string[] = [];
  serveFetch((url, init) => {
    own.push(`${init.method} ${init.credentials}`);
    return fetch(url.replace("https://rows.invalid", host.origin), init);
  }, port1);
  const url = "https://rows.invalid/t.parquet";
  const bytes = await opened({ url, fetch: port2, credentials: "omit" });
  expect(await read(bytes, 7, 19)).toEqual(host.content.subarray(7, 19));
  expect(own).toEqual(["HEAD omit", "GET omit"]);
  host.breaksAt = 5;
  await expect(read(bytes, 0, 1000)).rejects.toThrow();
  host.breaksAt = undefined;
  host.alwaysRefuses = 404;
  expect(await errorOf(read(bytes, 0, 10))).toMatchObject({ status: 404 });
  port1.close();
});

test("a host of the page's own origin tells the length with the last bytes", async () => {
  vi.stubGlobal("location", { origin: host.origin });
  const bytes = await opened();
  expect(bytes.size).toBe(5000);
  expect(await read(bytes, 4000, 5000)).toEqual(host.content.slice(4000));
  expect(host.asked).toEqual(["GET bytes=-1000"]);
  // They are kept for one reader.
  expect(await read(bytes, 4000, 5000)).toEqual(host.content.slice(4000));
  expect(await read(bytes, 10, 20)).toEqual(host.content.slice(10, 20));
  host.etag = '"second"';
  expect(await errorOf(read(bytes, 10, 20))).toMatchObject({ code: "source_changed" });
});

test("a host of the page's own origin that sends no last bytes is asked as others are", async () => {
  vi.stubGlobal("location", { origin: host.origin });
  host.sendsRanges = false;
  const whole = await opened();
  expect(host.asked).toEqual(["GET bytes=-1000", "HEAD"]);
  expect(await read(whole, 1, 9)).toEqual(host.content.slice(1, 9));
  host.sendsRanges = true;
  host.change = (body) => body.slice(1);
  expect((await opened()).size).toBe(5000);
  host.change = (body) => body;
  host.content = contentOf(300);
  const short = await opened();
  expect([short.size, await read(short, 0, 300)]).toEqual([300, host.content]);
  host.alwaysRefuses = 404;
  expect(await errorOf(opened())).toMatchObject({ code: "http_error", status: 404 });
});
