import { askWhyItFailed, openBody, readBody } from "./body.js";
import type { BodyDecoder } from "./decoder.js";
import { ColonnadeError, cancelledError } from "./errors.js";
import type { Notices, StreamEnd, StreamProgress, WireSource } from "./messages.js";
import type { Schema } from "./schema.js";

/** Progress is told at most once in this time: a few frames. */
const PROGRESS_INTERVAL_MS = 50;
/** How long decoding may keep the worker from answering requests: half a frame. */
const MAX_BUSY_MS = 8;

/**
 * How long a body may take to end after its marker. One that is read to its end is not an aborted
 * request in the browser's log and the server's.
 */
const CLOSING_MS = 100;

type Notify = <N extends keyof Notices>(name: N, data: Notices[N]) => void;

/** One stream inside the worker: reads a body into a decoder and tells how it goes. */
export class TableStream {
  readonly #source: WireSource;
  readonly #notify: Notify;
  readonly #abort = new AbortController();
  readonly #startMs = performance.now();
  #decoder: BodyDecoder | undefined;
  #firstRowMs: number | undefined;
  #toldMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: WireSource, notify: Notify) {
    this.#source = source;
    this.#notify = notify;
  }

  /** What has been decoded; stays readable after any end. */
  get decoder(): BodyDecoder | undefined {
    return this.#decoder;
  }

  /** Aborts the request. The end is told as `cancelled`. */
  stop(): void {
    this.#abort.abort();
  }

  /**
   * Resolves once the schema is known and goes on reading; the end comes as a notice. A failure
   * before the schema rejects, and is not told again.
   */
  async open(makeDecoder: Promise<BodyDecoder>): Promise<Schema> {
    let body: Awaited<ReturnType<typeof openBody>>;
    let decoder: BodyDecoder;
    try {
      const { signal } = this.#abort;
      [body, decoder] = await Promise.all([openBody(this.#source, signal), makeDecoder]);
    } catch (thrown) {
      const error = this.#abort.signal.aborted
        ? cancelledError()
        : ColonnadeError.from(thrown, "open_failed");
      this.#abort.abort();
      throw error;
    }
    this.#decoder = decoder;
    this.#notify("response", { queryId: body.queryId });
    return new Promise((resolve, reject) => {
      let isOpen = false;
      const onSchema = (schema: Schema) => {
        isOpen = true;
        resolve(schema);
      };
      this.#read(decoder, body, onSchema).then((end) => {
        clearTimeout(this.#timer);
        if (isOpen) this.#notify("end", { ...this.#progress(decoder), ...end });
        else reject(end.error ? ColonnadeError.fromPlain(end.error) : cancelledError());
      });
    });
  }

  async #read(
    decoder: BodyDecoder,
    body: Awaited<ReturnType<typeof openBody>>,
    onSchema: (schema: Schema) => void,
  ): Promise<StreamEnd> {
    const { signal } = this.#abort;
    let isOpen = false;
    const openOnce = async () => {
      if (isOpen || decoder.schema === undefined) return;
      isOpen = true;
      onSchema(decoder.schema);
      // The schema is the answer to a request; nothing else may be told before it.
      await letMessagesIn();
    };
    try {
      let busySinceMs = performance.now();
      const pieces = readBody(body.stream, signal);
      for await (const piece of pieces) {
        decoder.push(piece);
        await openOnce();
        this.#tell(decoder);
        // The marker is the end; what a producer sends behind it is none of ours.
        if (decoder.isComplete) {
          if (!(await settlesWithin(pieces.next(), CLOSING_MS))) this.#abort.abort();
          return { state: "complete" };
        }
        if (performance.now() - busySinceMs > MAX_BUSY_MS) {
          await letMessagesIn();
          busySinceMs = performance.now();
        }
      }
      if (signal.aborted) return { state: "cancelled" };
      const warning = decoder.end(body.end);
      await openOnce();
      return warning === undefined ? { state: "complete" } : { state: "complete", warning };
    } catch (thrown) {
      if (signal.aborted) return { state: "cancelled" };
      const error = await this.#explain(thrown, decoder, body.queryId);
      this.#abort.abort();
      return { state: "failed", error: error.toJSON() };
    }
  }

  /** The server's own account of a failure where it has one, else the best description here. */
  async #explain(
    thrown: unknown,
    decoder: BodyDecoder,
    queryId: string | undefined,
  ): Promise<ColonnadeError> {
    const own = ColonnadeError.from(thrown, "network_error");
    const isCut = own.code === "network_error" || own.code === "missing_end_of_stream";
    if (!isCut) return own;
    if (queryId !== undefined && this.#source.kind === "url") {
      const theirs = await askWhyItFailed(this.#source, queryId);
      if (theirs !== undefined) return theirs;
    }
    if (own.code !== "network_error") return own;
    return new ColonnadeError("network_error", "The connection was lost before the last row.", {
      row: decoder.numRows,
      byte: decoder.numBytes,
    });
  }

  #tell(decoder: BodyDecoder): void {
    const nowMs = performance.now();
    const isFirstRow = this.#firstRowMs === undefined && decoder.numRows > 0;
    if (isFirstRow) this.#firstRowMs = nowMs - this.#startMs;
    const waitMs = this.#toldMs + PROGRESS_INTERVAL_MS - nowMs;
    if (isFirstRow || waitMs <= 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#toldMs = nowMs;
      this.#notify("progress", this.#progress(decoder));
    } else if (this.#timer === undefined) {
      // So that the last rows before a pause are told as well.
      this.#timer = setTimeout(() => this.#tell(decoder), waitMs);
    }
  }

  #progress(decoder: BodyDecoder): StreamProgress {
    return {
      rows: decoder.numRows,
      batches: decoder.numBatches,
      bytes: decoder.numBytes,
      elapsedMs: performance.now() - this.#startMs,
      firstRowMs: this.#firstRowMs,
    };
  }
}

/** Whether `promise` settles, either way, before `waitMs` have passed. */
function settlesWithin(promise: Promise<unknown>, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = () => resolve(true);
    promise.then(settle, settle);
    setTimeout(() => resolve(false), waitMs);
  });
}

/** Waits for a task of its own, so that requests that wait in the port are answered first. */
function letMessagesIn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
