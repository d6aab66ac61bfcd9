import { type Body, fetchOf, holdsBack, minimal, openBody } from "../http/body.js";
import { type ClientSlot, PoolClient } from "../http/pool-client.js";
import { fetchQueryJson } from "../http/query-record.js";
import { ColonnadeError, cancelledError, type PlainError, withPosition } from "../model/errors.js";
import type { Interruption, StreamEnd, StreamProgress } from "../model/progress.js";
import type { Schema } from "../model/schema.js";
import type { QueryRange, WireSource } from "../model/wire-source.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { FirstCells, Notices, Opened, SlotPriority } from "../rpc/messages.js";
import type { BodyDecoder } from "./body-decoder.js";
import { feedDecoder } from "./feed-decoder.js";
import { FirstPaintGate } from "./first-paint-gate.js";
import type { Kernels } from "./kernels.js";
import { RangeReader } from "./range-reader.js";
import {
  type Continuation,
  RETRY_POLICY,
  type Reconnection,
  Reconnector,
  type RetryPolicy,
  readError,
} from "./reconnector.js";
import { type ResultAccess, WindowedTable } from "./windowed-table.js";

/** Minimum time between two progress reports, because each of them redraws the page. */
const PROGRESS_INTERVAL_MS = 200;
/** A pause this long closes the connection, which other requests may need. */
const MAX_PAUSE_MS = 5000;

type Notify = <N extends keyof Notices>(name: N, data: Notices[N]) => void;

/** How reading begins: with a response, with a failure to recover from, or with a request for rows. */
type Start = Part | ColonnadeError | undefined;

/** The first response, or one that continues. */
type Part = Pick<Continuation, "body"> & Partial<Continuation>;

/**
 * One stream inside the worker: reads a body into a decoder and reports progress. If a Colonnade
 * server answers, it reconnects after a lost connection, and becomes windowed when the memory budget is
 * full. With other sources, a full budget pauses it until it gets a larger one.
 */
export class TableStream {
  readonly #source: WireSource;
  readonly #notify: Notify;
  readonly #abort = new AbortController();
  readonly #policy: RetryPolicy;
  readonly #reconnector: Reconnector | undefined;
  readonly #pool: PoolClient;
  /** The slot of the connection for the rows. */
  #slot: ClientSlot;
  /** Ends the reading of a body whose remaining rows can be requested later. */
  #leaving = new AbortController();
  #isWaiting = false;
  /** Timeout of the next bytes. */
  readonly #stallMs: number | undefined;
  readonly #startMs = performance.now();
  #decoder: BodyDecoder | undefined;
  #onSchema: ((opened: Opened) => void) | undefined;
  #failure: ColonnadeError | undefined;
  #interruption: Interruption | undefined;
  #windowed: WindowedTable | undefined;
  /** Ranges that are being read. */
  readonly #ranges = new Set<RangeReader>();
  #pause: PlainError | undefined;
  /** The budget of the decoder, if the page has given it and may give more. */
  #memoryBytes: number | undefined;
  /** Takes another budget. */
  #onGrow: (memoryBytes: number) => void = () => undefined;
  #lastPieceMs = 0;
  #firstRowMs: number | undefined;
  #leftOutFiles: number | undefined;
  readonly #paintGate = new FirstPaintGate();
  #firstCells: FirstCells | undefined;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: WireSource, notify: Notify, policy = RETRY_POLICY, pool = new PoolClient()) {
    this.#pool = pool;
    this.#slot = pool.firstSlot();
    this.#source = source;
    this.#notify = notify;
    this.#policy = policy;
    if (source.kind === "url" && source.query !== undefined) {
      const { signal } = this.#abort;
      const report = (interruption: Interruption) => this.#reportInterruption(interruption);
      this.#reconnector = new Reconnector(source, source.query, signal, policy, report);
      this.#stallMs = policy.stallMs;
    }
  }

  /** The decoded rows; they stay readable after any end. */
  get decoder(): BodyDecoder | undefined {
    return this.#decoder;
  }

  /** Reads the rows, in memory or windowed. Undefined before the schema. */
  get rows(): Kernels | WindowedTable | undefined {
    return this.#windowed ?? this.#decoder?.kernels;
  }

  /** Set once the memory budget is full and rows load on demand. */
  get windowed(): WindowedTable | undefined {
    return this.#windowed;
  }

  /** Aborts the request. The end is reported as `cancelled`. */
  stop(): void {
    this.#abort.abort();
    this.#windowed?.close();
  }

  /** The first rows have been painted. */
  painted(): void {
    this.#paintGate.painted();
  }

  /** Takes another budget in bytes, which may be what it has. Ends a pause. */
  grow(memoryBytes: number): void {
    this.#onGrow(memoryBytes);
  }

  /**
   * Resolves once the schema is known and continues reading; the end comes as a notice. A failure
   * before the schema rejects, and is not reported again.
   *
   * @param firstCells the schema is reported with these cells if they arrive soon, and reading
   *   pauses until they are painted
   * @param memoryBytes the decoder's budget, if the page answers requests for a larger one
   */
  async open(
    makeDecoder: Promise<BodyDecoder>,
    firstCells?: FirstCells,
    memoryBytes?: number,
  ): Promise<Opened> {
    this.#memoryBytes = memoryBytes;
    this.#firstCells = firstCells;
    this.#paintGate.isWanted = firstCells !== undefined;
    let body: Body;
    let decoder: BodyDecoder;
    try {
      [body, decoder] = await Promise.all([this.#openBody(), makeDecoder]);
    } catch (thrown) {
      const error = this.#abort.signal.aborted
        ? cancelledError()
        : ColonnadeError.from(thrown, "open_failed");
      this.#abort.abort();
      throw error;
    }
    this.#decoder = decoder;
    if (this.#reconnector !== undefined) this.#reconnector.isRepeatable = body.isRepeatable;
    this.#leftOutFiles = body.leftOutFiles;
    return new Promise((resolve, reject) => {
      this.#onSchema = resolve;
      const start = this.#reconnector?.maxRows === undefined ? { body } : undefined;
      this.#run(decoder, start).then(async (end) => {
        if (this.#paintGate.isAwaited) await this.#reportSchema(decoder);
        if (this.#onSchema === undefined) this.#reportEnd(decoder, end);
        else reject(end.error ? ColonnadeError.fromPlain(end.error) : cancelledError());
      });
    });
  }

  /** The result, if only its first rows are read, and the others when they are looked at. */
  get #onDemand(): QueryRange | undefined {
    const query = this.#source.kind === "url" ? this.#source.query : undefined;
    return query?.onDemandBytes === undefined ? undefined : query;
  }

  /** Opens the body. If its bytes would pile up in the browser, only begins the result. */
  async #openBody(): Promise<Body> {
    const { signal } = this.#abort;
    const source = this.#source;
    const reconnector = this.#reconnector;
    if (
      reconnector !== undefined &&
      source.kind === "url" &&
      (this.#onDemand !== undefined || !holdsBack(source))
    ) {
      try {
        const body = await openBody(minimal(source), signal);
        if (body.isMinimal) reconnector.maxRows = this.#policy.firstPartRows;
        else if (this.#onDemand) this.#onDemand.onDemandBytes = undefined;
        return body;
      } catch (thrown) {
        // A proxy may not allow the header.
        if (ColonnadeError.from(thrown, "").code !== "network_error") throw thrown;
      }
    }
    return openBody(source, signal);
  }

  /** Reconnects now rather than at the next try. */
  retryNow(): void {
    this.#reconnector?.retryNow();
    for (const range of this.#ranges) range.retryNow();
  }

  /** Continues after a failure that `canResume`. */
  async resume(): Promise<void> {
    const [decoder, failure] = [this.#decoder, this.#failure];
    if (decoder === undefined || failure === undefined) return;
    this.#failure = undefined;
    this.#reconnector?.renew();
    const { signal } = this.#abort;
    try {
      const hasRows = this.#canYield && decoder.numRows > 0;
      this.#slot = await this.#pool.request("stream", hasRows, signal);
    } catch {
      return this.#reportEnd(decoder, { state: "cancelled" });
    }
    this.#reportEnd(decoder, await this.#run(decoder, failure));
  }

  /** Like {@link #readAll}, and then releases the slot. */
  async #run(decoder: BodyDecoder, start: Start): Promise<StreamEnd> {
    try {
      return await this.#readAll(decoder, start);
    } finally {
      this.#slot.release();
    }
  }

  /** Reads `start` and the responses that continue it, until there is an end. */
  async #readAll(decoder: BodyDecoder, start: Start): Promise<StreamEnd> {
    let next = start;
    for (;;) {
      if (next instanceof ColonnadeError) {
        const { numRows, numBytes } = decoder;
        const answer = await this.#reconnect(next, numRows);
        if (this.#abort.signal.aborted) return { state: "cancelled" };
        if (answer === undefined || "error" in answer) {
          const canResume = answer?.canResume ?? false;
          const error = withPosition(answer?.error ?? next, numRows, numBytes);
          if (canResume) this.#failure = error;
          return { state: "failed", error: error.toJSON(), canResume };
        }
        next = answer;
      }
      try {
        const end = next && (await this.#read(decoder, next));
        if (end !== undefined) return end;
        if (next && this.#onDemand && (await this.#becomeWindowed(decoder)))
          return { state: "windowed" };
        next = await this.#readOn(decoder);
        if (next === undefined) return { state: "cancelled" };
      } catch (thrown) {
        if (this.#abort.signal.aborted) return { state: "cancelled" };
        if (isBudgetFull(thrown) && (await this.#becomeWindowed(decoder)))
          return { state: "windowed" };
        next = readError(thrown);
      }
    }
  }

  /** The next response, or the error; the slot may be released meanwhile. */
  async #reconnect(error: ColonnadeError, numRows: number): Promise<Reconnection | undefined> {
    const { yielding, release } = this.#slot;
    const onYield = () => this.#canYield && release();
    if (yielding.aborted) onYield();
    yielding.addEventListener("abort", onYield);
    const answer = await this.#reconnector?.next(error, numRows, this.#lastPieceMs);
    yielding.removeEventListener("abort", onYield);
    return answer;
  }

  /**
   * Requests the next rows, in another slot if this one had to be yielded. Resolves with the response, or
   * with the error; with undefined if the stream is stopped meanwhile.
   */
  async #readOn(decoder: BodyDecoder): Promise<Continuation | ColonnadeError | undefined> {
    if (this.#slot.yielding.aborted || this.#leaving.signal.aborted) {
      this.#slot.release();
      this.#interruption = undefined;
      this.#isWaiting = true;
      this.#report(decoder);
      try {
        const hasRows = decoder.numRows > 0;
        this.#slot = await this.#pool.request("stream", hasRows, this.#abort.signal);
      } catch {
        return undefined;
      } finally {
        this.#isWaiting = false;
      }
      this.#report(decoder);
    }
    return this.#reconnector?.reconnect(decoder.numRows);
  }

  /** Whether the connection can be closed and the missing rows requested later. */
  get #canYield(): boolean {
    return this.#reconnector?.isRepeatable === true;
  }

  /** Reads one body; undefined if the result may have more rows. */
  async #read(
    decoder: BodyDecoder,
    { body, firstRow, maxRows }: Part,
  ): Promise<StreamEnd | undefined> {
    if (firstRow !== undefined) decoder.resume(firstRow);
    const { signal } = this.#abort;
    const slot = this.#slot;
    const endRow = decoder.numRows + (maxRows ?? Number.POSITIVE_INFINITY);
    this.#leaving = new AbortController();
    const canYield = this.#canYield;
    const leaving = AbortSignal.any([this.#leaving.signal, slot.yielding]);
    let isYieldAllowed = false;
    const opened = body.footer === undefined ? body : { stream: decoder.openFile(body.footer) };
    const stops = canYield ? AbortSignal.any([signal, leaving]) : signal;
    const onPiece = async (piece: Uint8Array) => {
      this.#lastPieceMs = performance.now();
      try {
        await this.#push(decoder, piece);
        this.#setPartSize(decoder);
      } finally {
        // If the first piece has good rows before bad bytes, the table opens with those rows.
        const report = () => this.#reportSchema(decoder);
        const isEarly = decoder.schema !== undefined && decoder.numRows === 0;
        if (!isEarly || !this.#paintGate.awaitsRows(report)) await report();
      }
      if (signal.aborted) return;
      this.#interruption = undefined;
      this.#report(decoder);
      if (decoder.isComplete || decoder.numRows === 0) return;
      if (this.#paintGate.isWanted) await this.#paintGate.pause();
      if (canYield && !isYieldAllowed) {
        isYieldAllowed = true;
        slot.allowYield();
      }
    };
    const isComplete = await feedDecoder(decoder, onPiece, opened, stops, this.#stallMs);
    if (isComplete) return decoder.numRows < endRow ? { state: "complete" } : undefined;
    if (signal.aborted) return { state: "cancelled" };
    if (stops.aborted) return undefined;
    const warning = decoder.end(body.end);
    await this.#reportSchema(decoder);
    return warning === undefined ? { state: "complete" } : { state: "complete", warning };
  }

  /** Decides how many rows to request at once, if rows are requested in parts. */
  #setPartSize(decoder: BodyDecoder): void {
    if (this.#reconnector?.maxRows === undefined || decoder.numRows === 0) return;
    const rowBytes = decoder.memoryBytes / decoder.numRows;
    this.#reconnector.maxRows = Math.ceil(this.#policy.partBytes / rowBytes);
  }

  /**
   * Pushes a piece. If the budget is full, and the page has no more memory, waits for a larger budget; throws if the
   * table can become windowed instead.
   */
  async #push(decoder: BodyDecoder, piece: Uint8Array): Promise<void> {
    let work = () => decoder.push(piece);
    for (;;) {
      try {
        return work();
      } catch (thrown) {
        if (!isBudgetFull(thrown)) throw thrown;
        let memoryBytes = await this.#moreMemory();
        if (memoryBytes === undefined) {
          if (this.#canBeWindowed(decoder)) throw thrown;
          await this.#reportSchema(decoder);
          memoryBytes = await this.#waitForBudget(decoder, thrown);
        }
        if (memoryBytes === undefined) return;
        const grownBytes = memoryBytes;
        work = () => decoder.grow(grownBytes);
      }
    }
  }

  /** Asks the page for more memory. Resolves with the larger budget; with undefined if there is none. */
  async #moreMemory(): Promise<number | undefined> {
    const heldBytes = this.#memoryBytes;
    if (heldBytes === undefined) return undefined;
    const next = this.#nextBudget();
    this.#notify("memory", { wantedBytes: 2 * heldBytes, isAll: false });
    const memoryBytes = (await next) ?? 0;
    return memoryBytes > heldBytes ? memoryBytes : undefined;
  }

  /** Pauses until there is another budget. Resolves with it, or with undefined when the stream is stopped. */
  async #waitForBudget(decoder: BodyDecoder, reason: ColonnadeError): Promise<number | undefined> {
    if (this.#abort.signal.aborted) return undefined;
    const closing = setTimeout(() => {
      if (!this.#canYield) return;
      this.#leaving.abort();
      this.#slot.release();
    }, MAX_PAUSE_MS);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pause = reason.toJSON();
    const next = this.#nextBudget();
    this.#notify("progress", this.#progress(decoder));
    const memoryBytes = await next;
    clearTimeout(closing);
    this.#pause = undefined;
    return memoryBytes;
  }

  /** Resolves with the next budget, or with undefined when the stream is stopped. */
  #nextBudget(): Promise<number | undefined> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const stopped = () => resolve(undefined);
      if (signal.aborted) return stopped();
      signal.addEventListener("abort", stopped, { once: true });
      this.#onGrow = (memoryBytes) => {
        signal.removeEventListener("abort", stopped);
        if (this.#memoryBytes !== undefined) this.#memoryBytes = memoryBytes;
        resolve(memoryBytes);
      };
    });
  }

  #canBeWindowed(decoder: BodyDecoder): boolean {
    return this.#reconnector !== undefined && decoder.numRows > 0;
  }

  /** Makes the table windowed; false if it cannot be. */
  async #becomeWindowed(decoder: BodyDecoder): Promise<boolean> {
    const { kind } = this.#source;
    if (!this.#canBeWindowed(decoder) || kind !== "url") return false;
    const { query } = this.#source;
    if (query === undefined) return false;
    await this.#reportSchema(decoder);
    decoder.kernels.releaseAll();
    const source = this.#source;
    const read: ResultAccess["read"] = (range, block, signal, report) =>
      this.#withSlot("block", true, signal, () => {
        const isRepeatable = this.#reconnector?.isRepeatable === true;
        const reader = new RangeReader(source, this.#policy);
        this.#ranges.add(reader);
        return reader
          .read(range, block, isRepeatable, signal, report)
          .finally(() => this.#ranges.delete(reader));
      });
    const progress = this.#progress(decoder);
    const fetchJson: ResultAccess["fetchJson"] = (path, isUrgent, signal) =>
      this.#withSlot("question", !isUrgent, signal, (either) =>
        fetchQueryJson(source, query, path, either, fetchOf(source)),
      );
    this.#windowed = new WindowedTable(
      decoder,
      { source, query, read, fetchJson },
      progress,
      (known) => this.#notify("progress", known),
    );
    await this.#windowed.fetchTotal();
    return true;
  }

  /** Does work that needs a connection, in a slot. Does it again if another request had to go first. */
  async #withSlot<T>(
    priority: SlotPriority,
    hasRows: boolean,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const slot = await this.#pool.request(priority, hasRows, signal);
      try {
        return await work(AbortSignal.any([signal, slot.yielding]));
      } catch (thrown) {
        if (signal.aborted || !slot.yielding.aborted) throw thrown;
      } finally {
        slot.release();
      }
    }
  }

  /** The schema answers the request to open; nothing else may be reported before it. */
  async #reportSchema(decoder: BodyDecoder): Promise<void> {
    if (this.#onSchema === undefined || decoder.schema === undefined) return;
    const firstCells = readFirst(decoder, decoder.schema, this.#firstCells);
    this.#onSchema({ schema: decoder.schema, progress: this.#progress(decoder), firstCells });
    this.#onSchema = undefined;
    await yieldToEventLoop();
  }

  #reportInterruption(interruption: Interruption): void {
    this.#interruption = interruption;
    if (this.#decoder === undefined || this.#onSchema !== undefined) return;
    this.#notify("progress", this.#progress(this.#decoder));
  }

  #reportEnd(decoder: BodyDecoder, end: StreamEnd): void {
    if (this.#memoryBytes !== undefined && end.state === "complete") {
      this.#notify("memory", { wantedBytes: decoder.memoryBytes, isAll: true });
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#interruption = undefined;
    this.#notify("end", { ...(this.#windowed?.progress ?? this.#progress(decoder)), ...end });
  }

  #report(decoder: BodyDecoder): void {
    if (this.#onSchema !== undefined) return;
    const nowMs = performance.now();
    const isFirstRow = this.#firstRowMs === undefined && decoder.numRows > 0;
    const waitMs = this.#reportedMs + PROGRESS_INTERVAL_MS - nowMs;
    if (isFirstRow || waitMs <= 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#reportedMs = nowMs;
      this.#notify("progress", this.#progress(decoder));
    } else if (this.#timer === undefined) {
      // So that the last rows before a pause are reported as well.
      this.#timer = setTimeout(() => {
        // Timers may fire a little early.
        this.#reportedMs = Number.NEGATIVE_INFINITY;
        this.#report(decoder);
      }, waitMs);
    }
  }

  #progress(decoder: BodyDecoder): StreamProgress {
    const elapsedMs = performance.now() - this.#startMs;
    if (decoder.numRows > 0) this.#firstRowMs ??= elapsedMs;
    return {
      rows: decoder.numRows,
      batches: decoder.numBatches,
      bytes: decoder.numBytes,
      elapsedMs,
      firstRowMs: this.#firstRowMs,
      leftOutFiles: this.#leftOutFiles,
      interruption: this.#interruption,
      isWaiting: this.#isWaiting,
      pause: this.#pause,
    };
  }
}

function readFirst(
  { kernels, numRows }: BodyDecoder,
  { fields }: Schema,
  wanted: FirstCells | undefined,
): Opened["firstCells"] {
  if (wanted === undefined || numRows === 0) return undefined;
  const columns = Uint32Array.from(fields.slice(0, wanted.numColumns), (_, column) => column);
  return kernels.window(0, 0, Math.min(numRows, wanted.numRows), columns, wanted.maxChars);
}

function isBudgetFull(thrown: unknown): thrown is ColonnadeError {
  return thrown instanceof ColonnadeError && thrown.code === "memory_budget_exceeded";
}
