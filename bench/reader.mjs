// A reader over a plain socket, so that a thousand of them, each at its own speed, need one process.

import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

/** What a reader takes at once: at full speed, or a tenth of a second of a slow reader, within limits. */
const FULL_SPEED_BYTES = 1 << 20;
const MIN_SLOW_BYTES = 256;
const MAX_SLOW_BYTES = 1 << 16;

const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

/** Readers of the same speed share a buffer, because they only count its bytes. */
const buffers = new Map();

/** Reads an answer once, at most `bytesASecond`. While the server refuses with 503, it asks again. */
export class Reader {
  /** Bytes of the body, as they were sent. */
  numBytes = 0;
  numRefusals = 0;
  /** What was wrong with the answer; undefined if nothing was. */
  failure;
  /** Milliseconds from the first request to the first byte of the body; undefined before. */
  firstMs;
  #url;
  #bytesASecond;
  #startMs;
  #endMs;
  #socket;
  #isClosed = false;

  constructor(url, bytesASecond = Number.POSITIVE_INFINITY) {
    this.#url = new URL(url);
    this.#bytesASecond = bytesASecond;
  }

  /** Milliseconds from the first request to the last byte, or to now. */
  get ms() {
    return (this.#endMs ?? performance.now()) - this.#startMs;
  }

  /** Resolves after the last byte, after a failure, or when the reader was closed. */
  async read() {
    this.#startMs = performance.now();
    while (!this.#isClosed) {
      const retrySeconds = await this.#attempt();
      if (retrySeconds === undefined) break;
      this.numRefusals += 1;
      await wait(retrySeconds * 1e3);
    }
    this.#endMs = performance.now();
  }

  close() {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  /** Sends the request; resolves with `Retry-After` if the server refused it. */
  #attempt() {
    const { hostname, port, host, pathname, search } = this.#url;
    let head = "";
    let tail = "";
    const take = (numRead, buffer) => {
      const bytes = buffer.subarray(0, numRead);
      const isHead = !head.includes(HEAD_END);
      if (isHead) head += bytes.toString("latin1");
      if (!head.includes(HEAD_END) || statusOf(head) !== 200) return true;
      this.numBytes += isHead ? head.length - head.indexOf(HEAD_END) - HEAD_END.length : numRead;
      if (this.numBytes > 0) this.firstMs ??= this.ms;
      tail = (tail + bytes.toString("latin1", Math.max(0, numRead - LAST_CHUNK.length))).slice(
        -LAST_CHUNK.length,
      );
      return this.#isOnTime();
    };
    return new Promise((resolve) => {
      const onread = { buffer: bufferFor(this.#bytesASecond), callback: take };
      this.#socket = connect({ host: hostname, port: Number(port), onread });
      const request = `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      this.#socket.write(request);
      this.#socket.once("error", ({ message }) => {
        this.failure = message;
      });
      this.#socket.once("close", () => {
        const numBytes = headerOf(head, "content-length") ?? this.numBytes;
        const isWhole = numBytes === this.numBytes && (tail === LAST_CHUNK || !isChunked(head));
        const status = statusOf(head);
        if (this.#isClosed || this.failure) return resolve();
        if (status === 503) return resolve(headerOf(head, "retry-after") ?? 1);
        const isRight = status === 200 && isWhole;
        if (!isRight) this.failure = `${status} ended after ${this.numBytes} bytes`;
        resolve();
      });
    });
  }

  /** Whether to read on at once; otherwise, reading continues when the bytes so far are due. */
  #isOnTime() {
    if (this.firstMs === undefined) return true;
    const dueMs = this.firstMs + (this.numBytes / this.#bytesASecond) * 1e3;
    const earlyMs = dueMs - this.ms;
    if (earlyMs <= 0) return true;
    setTimeout(() => this.#socket.resume(), earlyMs);
    return false;
  }
}

function bufferFor(bytesASecond) {
  const slowBytes = Math.min(MAX_SLOW_BYTES, Math.max(MIN_SLOW_BYTES, bytesASecond / 10));
  const size = Number.isFinite(bytesASecond) ? slowBytes : FULL_SPEED_BYTES;
  if (!buffers.has(size)) buffers.set(size, Buffer.alloc(size));
  return buffers.get(size);
}

function statusOf(head) {
  return Number(head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length));
}

/** A number in the headers of a response. */
function headerOf(head, name) {
  const value = head.match(new RegExp(`^${name}: *(\\d+)`, "im"))?.[1];
  return value === undefined ? undefined : Number(value);
}

function isChunked(head) {
  return /^transfer-encoding: *chunked/im.test(head);
}
