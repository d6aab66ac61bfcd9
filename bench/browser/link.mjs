// A link between the browser and a web server, with the delay and the rate of a fast connection at home. It is a
// separate process, so that work of the driver does not delay bytes.
//
// Connections share the rate in each direction in turns, in chunks of at most 16 KB. A new connection costs a round
// trip before its first bytes. Neither a slow start nor lost packets are imitated.

import { fork } from "node:child_process";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";

export const ROUND_TRIP_MS = 25;
export const BYTES_PER_SECOND = 100e6 / 8;

const CHUNK_BYTES = 16 * 1024;
/** What a connection may have on the sending side, and what its receiver may leave unread. */
const MAX_WAITING_BYTES = 256 * 1024;
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** How much too early a chunk may arrive, because timers are late by more than that. */
const EARLY_MS = 0.5;

/**
 * Starts a link to the server on `port` of loopback.
 *
 * `take` resolves with the requests since the last call: `{ method, path, range, sentMs, firstMs, lastMs, bytes }`,
 * with times since 1970 at the browser's side, and the bytes of the response with its headers.
 */
export async function openLink(port) {
  const child = fork(fileURLToPath(import.meta.url), [String(port)]);
  const next = () =>
    new Promise((resolve, reject) => {
      child.once("message", resolve);
      child.once("exit", (code) => reject(new Error(`the link ended with exit ${code}`)));
    });
  const origin = await next();
  const take = async () => {
    child.send("take");
    const requests = await next();
    child.removeAllListeners("exit");
    return requests;
  };
  return { origin, take, close: () => child.kill() };
}

const nowMs = () => performance.timeOrigin + performance.now();

/** One direction of the link. */
class Direction {
  /** The connections that have bytes to send, in the order of their turns. */
  #turns = [];
  #freeMs = 0;
  #timer;
  /** Chunks on their way, by the time of their arrival. */
  #travelling = [];
  #arrivals;

  send(flow, bytes) {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
      const chunk = bytes.subarray(start, start + CHUNK_BYTES);
      flow.chunks.push({ chunk, readyMs: Math.max(nowMs(), flow.openMs) });
      flow.waitingBytes += chunk.length;
    }
    if (!this.#turns.includes(flow)) this.#turns.push(flow);
    this.#serialize();
  }

  /** Puts the next chunks on the link whose time has come. */
  #serialize() {
    clearTimeout(this.#timer);
    for (;;) {
      const now = nowMs() + EARLY_MS;
      const waitMs = Math.max(this.#freeMs, this.#nextReadyMs()) - now;
      if (waitMs > 0 || Number.isNaN(waitMs)) {
        if (this.#turns.length > 0) {
          this.#timer = setTimeout(() => this.#serialize(), Number.isFinite(waitMs) ? waitMs : 2);
        }
        return;
      }
      const index = this.#turns.findIndex((flow) => isOpen(flow) && flow.chunks[0].readyMs <= now);
      const [flow] = this.#turns.splice(index, 1);
      const { chunk, readyMs } = flow.chunks.shift();
      this.#freeMs = Math.max(this.#freeMs, readyMs) + (chunk.length / BYTES_PER_SECOND) * 1000;
      this.#travelling.push({ flow, chunk, atMs: this.#freeMs + ROUND_TRIP_MS / 2 });
      if (flow.chunks.length > 0) this.#turns.push(flow);
      flow.waitingBytes -= chunk.length;
      if (flow.waitingBytes < MAX_WAITING_BYTES / 2) flow.source.resume();
      if (flow.waitingBytes === 0 && flow.isEnding)
        this.#travelling.push({ flow, atMs: this.#freeMs + ROUND_TRIP_MS / 2 });
      this.#arrive();
    }
  }

  /** The earliest time at which a chunk can be sent; Infinity if all receivers are full. */
  #nextReadyMs() {
    const open = this.#turns.filter(isOpen).map((flow) => flow.chunks[0].readyMs);
    return Math.min(...open);
  }

  #arrive() {
    clearTimeout(this.#arrivals);
    while (this.#travelling.length > 0) {
      const [{ flow, chunk, atMs }] = this.#travelling;
      const waitMs = atMs - nowMs() - EARLY_MS;
      if (waitMs > 0) {
        this.#arrivals = setTimeout(() => this.#arrive(), waitMs);
        return;
      }
      this.#travelling.shift();
      if (flow.target.destroyed) continue;
      if (chunk === undefined) flow.target.end();
      else {
        flow.onArrival(chunk);
        flow.target.write(chunk);
      }
    }
  }

  /** Ends a connection after its last bytes. */
  end(flow) {
    flow.isEnding = true;
    if (flow.waitingBytes > 0) return;
    this.#travelling.push({ flow, atMs: nowMs() + ROUND_TRIP_MS / 2 });
    this.#arrive();
  }
}

function isOpen(flow) {
  return flow.target.destroyed || flow.target.writableLength < MAX_UNREAD_BYTES;
}

function serve(port) {
  const [up, down] = [new Direction(), new Direction()];
  let requests = [];
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port, host: "127.0.0.1", noDelay: true });
    let last;
    const flowOf = (source, target, openMs, onArrival) => ({
      ...{ source, target, openMs, onArrival },
      ...{ chunks: [], waitingBytes: 0, isEnding: false },
    });
    const asking = flowOf(client, upstream, nowMs() + ROUND_TRIP_MS, () => undefined);
    const answering = flowOf(upstream, client, 0, ({ length }) => {
      if (last === undefined) return;
      last.lastMs = nowMs();
      last.firstMs ??= last.lastMs;
      last.bytes += length;
    });
    client.on("data", (bytes) => {
      const head = bytes.toString("latin1");
      const [, method, path] = /^([A-Z]+) (\S+) HTTP/.exec(head) ?? [];
      if (method !== undefined) {
        const [, range] = /^range: *bytes=(\S+)/im.exec(head) ?? [];
        last = { method, path, range, sentMs: nowMs(), bytes: 0 };
        requests.push(last);
      }
      up.send(asking, bytes);
    });
    upstream.on("data", (bytes) => {
      down.send(answering, bytes);
      if (answering.waitingBytes > MAX_WAITING_BYTES) upstream.pause();
    });
    client.on("end", () => up.end(asking));
    upstream.on("end", () => down.end(answering));
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
    client.on("close", () => upstream.destroy());
  });
  server.listen(0, "127.0.0.1", () => process.send(`http://127.0.0.1:${server.address().port}`));
  process.on("message", () => {
    process.send(requests);
    requests = [];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Ends with the driver, even if the driver crashes.
  process.on("disconnect", () => process.exit());
  serve(Number(process.argv[2]));
}
