// A client of the soak test: sends random requests, and checks that each answer is complete or a documented error.

import { Agent, request } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { ArrowRows } from "./arrow-rows.mjs";
import { randomBits } from "./browser/datasets.mjs";

/** Codes with which the server may refuse any work for a while. */
const BUSY = ["busy", "too_many_streams", "too_many_connections", "resources_exhausted"];

/** Shorter than the server's limit for idle connections, so that a request seldom meets a closing one. */
const IDLE_MS = 5000;

/** The longest time of an operation. */
const MAX_OPERATION_MS = 300_000;

/** A documented error in place of an answer. */
export class Refusal extends Error {}

/** Why a client left before the end of an answer. */
class Left extends Error {}

export class Client {
  /** The numbers of rows that each name was uploaded with, by name; all clients share it. */
  uploads;
  #origin;
  #bits;
  #agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  #operation = new AbortController();

  constructor({ origin, uploads, seed }) {
    this.#origin = origin;
    this.uploads = uploads;
    this.#bits = randomBits(seed);
  }

  get address() {
    return new URL(this.#origin);
  }

  /** A number from 0 to below 1. */
  random() {
    return this.#bits() / 2 ** 32;
  }

  pick(items) {
    return items[Math.floor(this.random() * items.length)];
  }

  /** A whole number between the limits, of each order of magnitude equally often. */
  scaled(min, max) {
    return Math.round(min * (max / min) ** this.random());
  }

  /** Runs an operation, which fails if it takes too long. */
  async run(operation) {
    this.#operation = new AbortController();
    const late = new Error(`no end after ${MAX_OPERATION_MS / 1e3} s`);
    const timer = this.#abortAfter(MAX_OPERATION_MS, late);
    try {
      await operation(this);
    } catch (error) {
      throw this.#operation.signal.reason === late ? late : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the requests of the operation after a time. */
  leaveAfter(ms) {
    this.#abortAfter(ms, new Left("left"));
  }

  get hasLeft() {
    return this.#operation.signal.reason instanceof Left;
  }

  #abortAfter(ms, reason) {
    const operation = this.#operation;
    return setTimeout(() => operation.abort(reason), ms).unref();
  }

  wait(ms) {
    return wait(ms, undefined, { signal: this.#operation.signal });
  }

  /** Asks again if the server has just closed the connection, which was idle. */
  #request(path, { body, ...options }) {
    const { signal } = this.#operation;
    return new Promise((resolve, reject) => {
      const all = { agent: this.#agent, signal, ...options };
      const sent = request(`${this.#origin}${path}`, all, resolve);
      sent.once("error", (error) => {
        const wasIdle = sent.reusedSocket && error.code === "ECONNRESET";
        if (wasIdle) resolve(this.#request(path, { body, ...options }));
        else reject(error);
      });
      sent.end(body);
    });
  }

  /** The response; throws a `Refusal` if the server is busy or answers with one of `codes`. */
  async send(path, { codes = [], ...options } = {}) {
    const response = await this.#request(path, options);
    if (response.statusCode < 300) return response;
    const { code, detail } = await json(response);
    if ([...BUSY, ...codes].includes(code)) throw new Refusal(code);
    throw new Error(`${response.statusCode} ${code}: ${detail}`);
  }

  async json(path, options) {
    return json(await this.send(path, options));
  }

  query(body, codes) {
    const headers = { "content-type": "application/json" };
    return this.send("/v1/query", { method: "POST", headers, body: JSON.stringify(body), codes });
  }

  async delete(path, codes) {
    (await this.send(path, { method: "DELETE", codes })).resume();
  }

  /** Reads rows from `firstRow` on, `numRows` or one of several numbers; errors are as those of `send`. */
  async readRows(response, firstRow, numRows, { bytesASecond = Infinity, codes = [] } = {}) {
    try {
      await this.#readAll(response, new ArrowRows(firstRow), [numRows].flat(), bytesASecond);
    } catch (error) {
      if (this.#operation.signal.aborted) throw error;
      const status = await this.json(`/v1/query/${response.headers["x-query-id"]}`);
      if ([...BUSY, ...codes].includes(status.error?.code)) throw new Refusal(status.error.code);
      throw new Error(`${error.message}; ${status.state}, ${status.error?.code}`);
    }
  }

  async #readAll(response, rows, numbers, bytesASecond) {
    const startMs = performance.now();
    let numBytes = 0;
    for await (const piece of response) {
      rows.push(piece);
      numBytes += piece.length;
      const earlyMs = startMs + (numBytes / bytesASecond) * 1e3 - performance.now();
      if (earlyMs > 1) await this.wait(earlyMs);
    }
    rows.check(numbers);
  }
}
