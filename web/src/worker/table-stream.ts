import { type Body, fetchOf, openBody, readBody } from "../http/body.js";
import { Gate, type GatePlace } from "../http/pool-client.js";
import { askQuery } from "../http/query-record.js";
import { resumeRequest } from "../http/query-request.js";
import { ColonnadeError, cancelledError, type PlainError, withPlace } from "../model/errors.js";
import type { Interruption, StreamEnd, StreamProgress } from "../model/progress.js";
import type { WireSource } from "../model/wire-source.js";
import { letMessagesIn, settlesWithin } from "../rpc/event-loop.js";
import type { Lane, Notices, Opened } from "../rpc/messages.js";
import type { BodyDecoder } from "./body-decoder.js";
import { FirstLook } from "./first-paint-gate.js";
import type { Kernels } from "./kernels.js";
import {
  type Continuation,
  PATIENCE,
  type Patience,
  type Reconnection,
  Reconnector,
} from "./reconnector.js";
import { type Origin, WindowedRows } from "./windowed-table.js";

/** Progress is told at most once in this time: each time the page draws it. */
const PROGRESS_INTERVAL_MS = 100;
/** How long decoding may keep the worker from answering requests: half a frame. */
const MAX_BUSY_MS = 8;

/**
 * How long a body may take to end after its marker. One that is read to its end is not an aborted
 * request in the browser's log and the server's.
 */
const CLOSING_MS = 100;

/** A pause this long closes the connection, which others may need. */
const MAX_PAUSE_MS = 5000;

type Notify = <N extends keyof Notices>(name: N, data: Notices[N]) => void;

/**
 * One stream inside the worker: reads a body into a decoder and tells how it goes. Where the source
 * is a Colonnade server's, it goes on with another body when the connection breaks, and by row when
 * the memory budget is full; otherwise it waits then until somebody decides.
 */
export class TableStream {
  readonly #source: WireSource;
  readonly #notify: Notify;
  readonly #abort = new AbortController();
  readonly #patience: Patience;
  readonly #reconnector: Reconnector | undefined;
  readonly #gate: Gate;
  /** The connection that rows come by. */
  #place: GatePlace;
  /** Ends the reading of a body where the rows after it can be had later. */
  #leaving = new AbortController();
  #isWaiting = false;
  /** How long the next bytes may take. */
  readonly #stallMs: number | undefined;
  readonly #startMs = performance.now();
  #decoder: BodyDecoder | undefined;
  #onSchema: ((opened: Opened) => void) | undefined;
  #failure: ColonnadeError | undefined;
  #interruption: Interruption | undefined;
  #windowed: WindowedRows | undefined;
  /** Ranges that are on their way. */
  readonly #ranges = new Set<TableStream>();
  #pause: PlainError | undefined;
  /** Ends the pause with another budget. */
  #onGrow: (memoryBytes: number) => void = () => undefined;
  #lastPieceMs = 0;
  #firstRowMs: number | undefined;
  readonly #firstLook = new FirstLook();
  #toldMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: WireSource, notify: Notify, patience = PATIENCE, gate = new Gate()) {
    this.#gate = gate;
    this.#place = gate.first();
    this.#source = source;
    this.#notify = notify;
    this.#patience = patience;
    if (source.kind === "url" && source.query !== undefined) {
      const { signal } = this.#abort;
      const tell = (interruption: Interruption) => this.#tellInterruption(interruption);
      this.#reconnector = new Reconnector(source, source.query, signal, patience, tell);
      this.#stallMs = patience.stallMs;
    }
  }

  /** What has been decoded; stays readable after any end. */
  get decoder(): BodyDecoder | undefined {
    return this.#decoder;
  }

  /** What can be read: in memory, or row by row. Undefined before the schema. */
  get rows(): Kernels | WindowedRows | undefined {
    return this.#windowed ?? this.#decoder?.kernels;
  }

  /** Set once the memory budget was full and rows come and go. */
  get windowed(): WindowedRows | undefined {
    return this.#windowed;
  }

  /** Aborts the request. The end is told as `cancelled`. */
  stop(): void {
    this.#abort.abort();
    this.#windowed?.close();
  }

  /** The first rows have been painted. */
  painted(): void {
    this.#firstLook.painted();
  }

  /** Goes on after a pause, with another budget in bytes. */
  grow(memoryBytes: number): void {
    this.#onGrow(memoryBytes);
  }

  /**
   * Resolves once the schema is known and goes on reading; the end comes as a notice. A failure
   * before the schema rejects, and is not told again.
   *
   * @param isShown the schema is told with the first rows where these come soon, and no more is read
   *   before they are painted
   */
  async open(makeDecoder: Promise<BodyDecoder>, isShown = false): Promise<Opened> {
    this.#firstLook.isWanted = isShown;
    let body: Body;
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
    if (this.#reconnector !== undefined) this.#reconnector.isRepeatable = body.isRepeatable;
    return new Promise((resolve, reject) => {
      this.#onSchema = resolve;
      this.#run(decoder, body).then(async (end) => {
        if (this.#firstLook.isAwaited) await this.#tellSchema(decoder);
        if (this.#onSchema === undefined) this.#tellEnd(decoder, end);
        else reject(end.error ? ColonnadeError.fromPlain(end.error) : cancelledError());
      });
    });
  }

  /** Does not wait for the next try to go on. */
  hurry(): void {
    this.#reconnector?.hurry();
    for (const range of this.#ranges) range.hurry();
  }

  /** Goes on after a failure that `canResume`. */
  async resume(): Promise<void> {
    const [decoder, failure] = [this.#decoder, this.#failure];
    if (decoder === undefined || failure === undefined) return;
    this.#failure = undefined;
    this.#reconnector?.renew();
    const { signal } = this.#abort;
    try {
      const canLeave = this.#canLeave && decoder.numRows > 0;
      this.#place = await this.#gate.take("stream", canLeave, signal);
    } catch {
      return this.#tellEnd(decoder, { state: "cancelled" });
    }
    this.#tellEnd(decoder, await this.#run(decoder, failure));
  }

  /** As {@link #runOn}, and then leaves the connection to others. */
  async #run(decoder: BodyDecoder, start: Body | ColonnadeError): Promise<StreamEnd> {
    try {
      return await this.#runOn(decoder, start);
    } finally {
      this.#place.leave();
    }
  }

  /** Reads `start`, or what comes after a failure, and so on until there is an end. */
  async #runOn(decoder: BodyDecoder, start: Body | ColonnadeError): Promise<StreamEnd> {
    let next: Body | ColonnadeError = start;
    let firstRow: number | undefined;
    for (;;) {
      if (next instanceof ColonnadeError) {
        const { numRows, numBytes } = decoder;
        const answer = await this.#reconnect(next, numRows);
        if (this.#abort.signal.aborted) return { state: "cancelled" };
        if (answer === undefined || "error" in answer) {
          const canResume = answer?.canResume ?? false;
          const error = withPlace(answer?.error ?? next, numRows, numBytes);
          if (canResume) this.#failure = error;
          return { state: "failed", error: error.toJSON(), canResume };
        }
        next = answer.body;
        firstRow = answer.firstRow;
      }
      try {
        if (firstRow !== undefined) decoder.resume(firstRow);
        const end = await this.#read(decoder, next);
        if (end !== undefined) return end;
        const again = await this.#comeBack(decoder);
        if (again === undefined) return { state: "cancelled" };
        if (again instanceof ColonnadeError) next = again;
        else ({ body: next, firstRow } = again);
      } catch (thrown) {
        if (this.#abort.signal.aborted) return { state: "cancelled" };
        if (await this.#becomeWindowed(decoder, thrown)) return { state: "windowed" };
        const isForeign = !(thrown instanceof ColonnadeError);
        next = isForeign
          ? new ColonnadeError("network_error", "The connection was lost before the last row.")
          : thrown;
      }
    }
  }

  /** The next response, or why there is none; whoever waits for a place has this one meanwhile. */
  async #reconnect(error: ColonnadeError, numRows: number): Promise<Reconnection | undefined> {
    const place = this.#place;
    const leave = () => this.#canLeave && place.leave();
    if (place.wanted.aborted) leave();
    place.wanted.addEventListener("abort", leave);
    const answer = await this.#reconnector?.next(error, numRows, this.#lastPieceMs);
    place.wanted.removeEventListener("abort", leave);
    return answer;
  }

  /**
   * Makes room for others and waits until there is a connection again: the response with the rows
   * that come next, or why there is none; undefined when the stream is stopped meanwhile.
   */
  async #comeBack(decoder: BodyDecoder): Promise<Continuation | ColonnadeError | undefined> {
    this.#place.leave();
    this.#interruption = undefined;
    this.#isWaiting = true;
    this.#tell(decoder);
    try {
      const { numRows } = decoder;
      this.#place = await this.#gate.take("stream", numRows > 0, this.#abort.signal);
    } catch {
      return undefined;
    } finally {
      this.#isWaiting = false;
    }
    this.#tell(decoder);
    return this.#reconnector?.again(decoder.numRows);
  }

  /** Whether the connection can be closed and the rows that are missing asked for later. */
  get #canLeave(): boolean {
    return !this.#isRange && this.#reconnector?.isRepeatable === true;
  }

  /** Undefined where the connection was left to others before the end. */
  async #read(decoder: BodyDecoder, body: Body): Promise<StreamEnd | undefined> {
    const { signal } = this.#abort;
    const place = this.#place;
    this.#leaving = new AbortController();
    const canLeave = this.#canLeave;
    const leaving = AbortSignal.any([this.#leaving.signal, place.wanted]);
    let isOffered = false;
    let busySinceMs = performance.now();
    const stream = body.footer === undefined ? body.stream : decoder.openFile(body.footer);
    const stops = canLeave ? AbortSignal.any([signal, leaving]) : signal;
    const pieces = readBody(stream, stops, this.#stallMs);
    for await (const piece of pieces) {
      this.#lastPieceMs = performance.now();
      try {
        await this.#push(decoder, piece);
      } finally {
        // A table whose first piece is bad behind good rows is there, with those rows.
        const tell = () => this.#tellSchema(decoder);
        const isEarly = decoder.schema !== undefined && decoder.numRows === 0;
        if (!isEarly || !this.#firstLook.awaitsRows(tell)) await tell();
      }
      if (signal.aborted) break;
      this.#interruption = undefined;
      this.#tell(decoder);
      // The marker is the end; what a producer sends behind it is none of ours.
      if (decoder.isComplete) {
        if (!(await settlesWithin(pieces.next(), CLOSING_MS))) this.#abort.abort();
        return { state: "complete" };
      }
      if (this.#firstLook.isWanted && decoder.numRows > 0) await this.#firstLook.pause();
      if (canLeave && !isOffered && decoder.numRows > 0) {
        isOffered = true;
        place.offer();
      }
      if (performance.now() - busySinceMs > MAX_BUSY_MS) {
        await letMessagesIn();
        busySinceMs = performance.now();
      }
    }
    if (signal.aborted) return { state: "cancelled" };
    if (canLeave && leaving.aborted) return undefined;
    const warning = decoder.end(body.end);
    await this.#tellSchema(decoder);
    return warning === undefined ? { state: "complete" } : { state: "complete", warning };
  }

  /** Where the budget is full and rows cannot come and go, waits for a larger one. */
  async #push(decoder: BodyDecoder, piece: Uint8Array): Promise<void> {
    let work = () => decoder.push(piece);
    for (;;) {
      try {
        return work();
      } catch (thrown) {
        const isWaiting = isBudgetFull(thrown) && !this.#isRange && !this.#canBeWindowed(decoder);
        if (!isWaiting) throw thrown;
        await this.#tellSchema(decoder);
        const memoryBytes = await this.#waitForBudget(decoder, thrown);
        if (memoryBytes === undefined) return;
        work = () => decoder.grow(memoryBytes);
      }
    }
  }

  /** Resolves with the next budget, or with undefined when the stream is stopped. */
  #waitForBudget(decoder: BodyDecoder, reason: ColonnadeError): Promise<number | undefined> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const closing = setTimeout(() => {
        if (!this.#canLeave) return;
        this.#leaving.abort();
        this.#place.leave();
      }, MAX_PAUSE_MS);
      const decide = (memoryBytes?: number) => {
        clearTimeout(closing);
        this.#pause = undefined;
        signal.removeEventListener("abort", stopped);
        resolve(memoryBytes);
      };
      const stopped = () => decide();
      if (signal.aborted) return stopped();
      signal.addEventListener("abort", stopped);
      this.#onGrow = decide;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#pause = reason.toJSON();
      this.#notify("progress", this.#progress(decoder));
    });
  }

  get #isRange(): boolean {
    return this.#source.kind === "url" && this.#source.query?.whole !== undefined;
  }

  #canBeWindowed(decoder: BodyDecoder): boolean {
    return this.#reconnector !== undefined && !this.#isRange && decoder.numRows > 0;
  }

  /** From here on rows come and go by their number, where the memory budget is what ended it. */
  async #becomeWindowed(decoder: BodyDecoder, thrown: unknown): Promise<boolean> {
    const { kind } = this.#source;
    if (!isBudgetFull(thrown) || !this.#canBeWindowed(decoder) || kind !== "url") return false;
    const { query } = this.#source;
    if (query === undefined) return false;
    await this.#tellSchema(decoder);
    decoder.kernels.releaseAll();
    const source = this.#source;
    const read: Origin["read"] = (range, block, signal, tell) => {
      const notify: Notify = (_, data) => tell((data as StreamProgress).interruption);
      return this.#inPlace("block", true, signal, () => {
        const stream = new TableStream({ ...source, query: range }, notify, this.#patience);
        return this.#readRange(stream, block, signal);
      });
    };
    const progress = this.#progress(decoder);
    const ask: Origin["ask"] = (path, isUrgent, signal) =>
      this.#inPlace("question", !isUrgent, signal, (either) =>
        askQuery(source, query, path, either, fetchOf(source)),
      );
    this.#windowed = new WindowedRows(decoder, { source, query, read, ask }, progress, (known) =>
      this.#notify("progress", known),
    );
    await this.#windowed.askTotal();
    return true;
  }

  /** Does what needs a connection once there is one; anew where another should have it first. */
  async #inPlace<T>(
    lane: Lane,
    hasRows: boolean,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const place = await this.#gate.take(lane, hasRows, signal);
      try {
        return await work(AbortSignal.any([signal, place.wanted]));
      } catch (thrown) {
        if (signal.aborted || !place.wanted.aborted) throw thrown;
      } finally {
        place.leave();
      }
    }
  }

  /** The schema is the answer to a request; nothing else may be told before it. */
  async #tellSchema(decoder: BodyDecoder): Promise<void> {
    if (this.#onSchema === undefined || decoder.schema === undefined) return;
    this.#onSchema({ schema: decoder.schema, progress: this.#progress(decoder) });
    this.#onSchema = undefined;
    await letMessagesIn();
  }

  /** Reads a range to its end by a stream of its own; rejects with why that failed. */
  async #readRange(stream: TableStream, block: BodyDecoder, signal: AbortSignal): Promise<void> {
    const stop = () => stream.stop();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    this.#ranges.add(stream);
    try {
      const { error, state } = await stream.#readInto(block, this.#reconnector?.isRepeatable);
      if (error !== undefined) throw ColonnadeError.fromPlain(error);
      if (state !== "complete") throw cancelledError();
    } finally {
      this.#ranges.delete(stream);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Reads the rows that the query says into a decoder made for them. */
  async #readInto(decoder: BodyDecoder, isRepeatable = false): Promise<StreamEnd> {
    if (this.#source.kind !== "url" || this.#source.query === undefined) throw cancelledError();
    if (this.#reconnector !== undefined) this.#reconnector.isRepeatable = isRepeatable;
    this.#decoder = decoder;
    const request = resumeRequest(this.#source, this.#source.query, 0);
    const start = await openBody(request, this.#abort.signal, this.#stallMs).catch(
      // The reconnector asks again, and what is said then counts.
      () => new ColonnadeError("network_error", "The rows could not be asked for."),
    );
    const end = await this.#run(decoder, start);
    clearTimeout(this.#timer);
    return end;
  }

  #tellInterruption(interruption: Interruption): void {
    this.#interruption = interruption;
    if (this.#decoder === undefined || this.#onSchema !== undefined) return;
    this.#notify("progress", this.#progress(this.#decoder));
  }

  #tellEnd(decoder: BodyDecoder, end: StreamEnd): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#interruption = undefined;
    this.#notify("end", { ...(this.#windowed?.progress ?? this.#progress(decoder)), ...end });
  }

  #tell(decoder: BodyDecoder): void {
    if (this.#onSchema !== undefined) return;
    const nowMs = performance.now();
    const isFirstRow = this.#firstRowMs === undefined && decoder.numRows > 0;
    const waitMs = this.#toldMs + PROGRESS_INTERVAL_MS - nowMs;
    if (isFirstRow || waitMs <= 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#toldMs = nowMs;
      this.#notify("progress", this.#progress(decoder));
    } else if (this.#timer === undefined) {
      // So that the last rows before a pause are told as well.
      this.#timer = setTimeout(() => {
        // Timers may fire a little early.
        this.#toldMs = Number.NEGATIVE_INFINITY;
        this.#tell(decoder);
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
      interruption: this.#interruption,
      isWaiting: this.#isWaiting,
      pause: this.#pause,
    };
  }
}

function isBudgetFull(thrown: unknown): thrown is ColonnadeError {
  return thrown instanceof ColonnadeError && thrown.code === "memory_budget_exceeded";
}
