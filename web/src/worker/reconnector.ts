import { type Body, fetchOf, holdsBack, minimal, openBody } from "../http/body.js";
import { fetchQueryRecord } from "../http/query-record.js";
import { restartRequest, resumeRequest } from "../http/query-request.js";
import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { Interruption } from "../model/progress.js";
import type { QueryRange, UrlSource } from "../model/wire-source.js";

/** Timeouts and waits of a connection, in milliseconds, and how much is requested at once. */
export interface RetryPolicy {
  /** Timeout of the next bytes; the server sends some every 15 s. */
  stallMs: number;
  /** Wait before the second try; doubled for each further one. */
  firstWaitMs: number;
  /** Longest wait between two tries. */
  maxWaitMs: number;
  /** How long after the loss of the connection the next row may take. */
  giveUpMs: number;
  /** The number of rows to request first if bodies do not hold back: some screens. */
  firstPartRows: number;
  /** The size of the parts in which the other rows are then requested; dictionaries are added. */
  partBytes: number;
}

export const RETRY_POLICY: RetryPolicy = {
  stallMs: 40_000,
  firstWaitMs: 250,
  maxWaitMs: 8000,
  giveUpMs: 60_000,
  firstPartRows: 1000,
  partBytes: 12 * 1024 * 1024,
};

/** The connection was lost; the result and the bytes may be intact. */
const CONNECTION_LOST = new Set(["network_error", "missing_end_of_stream", "truncated_message"]);

/** The bytes differ from those that the server sent. */
const DAMAGED = new Set([
  "row_gap",
  "row_overlap",
  "message_gap",
  "wrong_total",
  "checksum_mismatch",
  "not_arrow",
  "invalid_header",
  "invalid_data",
]);

/** HTTP statuses of a server, or of a proxy in front of it, that is running but not ready. */
const NOT_READY = new Set([429, 502, 503, 504]);

/** The next response, or the error; `canResume`: a later try may succeed. */
export type Reconnection = Continuation | { error: ColonnadeError; canResume: boolean };

/** A response that continues from `firstRow` of the result. */
export interface Continuation {
  body: Body;
  firstRow: number;
  /** The most rows that it has, if the result may have more. */
  maxRows: number | undefined;
}

/** Requests the rest of a result whose connection was lost. */
export class Reconnector {
  readonly #source: UrlSource;
  readonly #query: QueryRange;
  readonly #signal: AbortSignal;
  readonly #policy: RetryPolicy;
  readonly #report: (interruption: Interruption) => void;
  #attempt = 0;
  #startMs = 0;
  #since = 0;
  /** Rows when the tries began; -1 before. */
  #numRows = -1;
  /** When the last response began. */
  #openedMs = 0;
  #wasDamaged = false;
  #endPause: () => void = () => undefined;
  /** Whether the same request gives the same rows again, because their order does not depend on the run. */
  isRepeatable = false;
  /** The most rows to request at once; default all. */
  maxRows: number | undefined;

  constructor(
    source: UrlSource,
    query: QueryRange,
    signal: AbortSignal,
    policy: RetryPolicy,
    report: (interruption: Interruption) => void,
  ) {
    this.#source = source;
    this.#query = query;
    this.#signal = signal;
    this.#policy = policy;
    this.#report = report;
  }

  /** The user requested another try: the timeout starts anew. */
  renew(): void {
    this.#numRows = -1;
    this.#wasDamaged = false;
  }

  /** Tries again now, because the browser is online again or the page was asleep: the timeout starts anew. */
  retryNow(): void {
    this.#beginTries();
    this.#endPause();
  }

  /**
   * Tries until the server answers with the rows after `numRows`, or no further try can succeed.
   *
   * @param lastPieceMs when the last bytes arrived, as `performance.now()` counts
   */
  async next(error: ColonnadeError, numRows: number, lastPieceMs: number): Promise<Reconnection> {
    if (DAMAGED.has(error.code)) {
      if (this.#wasDamaged) return { error, canResume: true };
      this.#wasDamaged = true;
    } else if (!CONNECTION_LOST.has(error.code)) {
      return { error, canResume: false };
    }
    const { stallMs } = this.#policy;
    // A response with heartbeats only counts as progress too, because the query is just slow.
    const wasSteady = lastPieceMs - this.#openedMs >= stallMs / 2;
    const wasAsleep = performance.now() - Math.max(lastPieceMs, this.#openedMs) >= 2 * stallMs;
    if (numRows > this.#numRows || wasSteady || wasAsleep) {
      this.#numRows = numRows;
      this.#since = Date.now();
      this.#beginTries();
    }
    let cause = error;
    for (;;) {
      if (this.#signal.aborted) return { error: cancelledError(), canResume: false };
      const leftMs = this.#startMs + this.#policy.giveUpMs - performance.now();
      if (leftMs <= 0) return { error: this.#gaveUp(cause, numRows), canResume: true };
      this.#attempt++;
      this.#report({ row: this.#tableRow(numRows), attempt: this.#attempt, since: this.#since });
      const waitMs = Math.min(this.#waitMs(cause), leftMs);
      await this.#whileAwake(waitMs, this.#pause(waitMs));
      try {
        return await this.#whileAwake(stallMs, this.#continueUnlessFailed(numRows));
      } catch (thrown) {
        cause = ColonnadeError.from(thrown, "network_error");
        if (this.#signal.aborted) return { error: cancelledError(), canResume: false };
        if (!isTransient(cause)) return { error: cause, canResume: false };
      }
    }
  }

  /** Requests the rows after `numRows`, if this side closed the connection. */
  async reconnect(numRows: number): Promise<Continuation | ColonnadeError> {
    try {
      return await this.#continue(numRows);
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "network_error");
      return isTransient(error) ? new ColonnadeError("network_error", error.message) : error;
    }
  }

  /** Rejects with the server's error if the result has failed. */
  async #continueUnlessFailed(numRows: number): Promise<Continuation> {
    await fetchQueryRecord(this.#source, this.#query, this.#signal, fetchOf(this.#source));
    return this.#continue(numRows);
  }

  async #continue(numRows: number): Promise<Continuation> {
    const { limit = Number.POSITIVE_INFINITY, whole = this.#query } = this.#query;
    const { maxRows = limit } = this;
    const isPart = numRows + maxRows < limit;
    const part = { ...this.#query, limit: numRows + maxRows, whole };
    const body = await this.#request(isPart ? part : this.#query, numRows);
    this.#openedMs = performance.now();
    return { body, firstRow: this.#row(numRows), maxRows: isPart ? maxRows : undefined };
  }

  #beginTries(): void {
    this.#attempt = 0;
    this.#startMs = performance.now();
  }

  /** Waits for a step that takes at most `limitMs`. More than that does not count: the page was asleep. */
  async #whileAwake<T>(limitMs: number, step: Promise<T>): Promise<T> {
    const startMs = performance.now();
    try {
      return await step;
    } finally {
      this.#startMs += Math.max(0, performance.now() - startMs - limitMs);
    }
  }

  /** Number in the result of the table's row `numRows`. */
  #row(numRows: number): number {
    return this.#query.firstRow + numRows;
  }

  /** The same row's number in the whole table, of which this may be a range. */
  #tableRow(numRows: number): number {
    const { whole } = this.#query;
    return whole === undefined ? numRows : this.#row(numRows) - whole.firstRow;
  }

  async #request(query: QueryRange, numRows: number): Promise<Body> {
    const { stallMs } = this.#policy;
    try {
      const request = resumeRequest(this.#source, query, numRows);
      return await openBody(request, this.#signal, stallMs);
    } catch (thrown) {
      if (ColonnadeError.from(thrown, "").code !== "unknown_query") throw thrown;
    }
    const { isKept, whole } = query;
    const hasRows = numRows > 0 || whole !== undefined;
    if (isKept || (hasRows && !this.isRepeatable)) {
      throw new ColonnadeError(
        "unknown_query",
        "The server no longer has this result, and another run could give other rows.",
      );
    }
    if (whole === undefined) {
      const request = restartRequest(this.#source, query, numRows);
      return openBody(request, this.#signal, stallMs);
    }
    const request = restartRequest(this.#source, whole, 0);
    const canWait = holdsBack(request);
    const body = await openBody(canWait ? request : minimal(request), this.#signal, stallMs);
    // The server has the result again, so the next try gets these rows by its id.
    body.close?.();
    throw new ColonnadeError("network_error", "The result was just restarted.");
  }

  #waitMs({ retryAfterMs = 0 }: ColonnadeError): number {
    if (this.#attempt === 1) return retryAfterMs;
    const { firstWaitMs, maxWaitMs } = this.#policy;
    const waitMs = Math.min(firstWaitMs * 2 ** (this.#attempt - 2), maxWaitMs);
    // Jitter, so that the clients of a restarted server do not all reconnect at once.
    return Math.max(retryAfterMs, waitMs * (0.5 + Math.random() / 2));
  }

  /** Waits, at most until `retryNow` or the signal's abort. */
  #pause(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#signal.aborted) return resolve();
      this.#endPause = () => {
        clearTimeout(timer);
        this.#signal.removeEventListener("abort", this.#endPause);
        resolve();
      };
      const timer = setTimeout(this.#endPause, waitMs);
      this.#signal.addEventListener("abort", this.#endPause);
    });
  }

  #gaveUp(cause: ColonnadeError, numRows: number): ColonnadeError {
    const seconds = Math.round(this.#policy.giveUpMs / 1000);
    const row = this.#tableRow(numRows);
    const message = `The connection was lost at row ${row + 1} and not restored within ${seconds} s.`;
    return new ColonnadeError("network_error", message, {
      row,
      hint: CONNECTION_LOST.has(cause.code) ? "Is the server running?" : cause.message,
    });
  }
}

/** The error of a failed read. Any error of the browser's own means that the connection was lost. */
export function readError(thrown: unknown): ColonnadeError {
  return thrown instanceof ColonnadeError ? thrown : connectionLost();
}

/** The error of a connection that was lost. */
export function connectionLost(): ColonnadeError {
  return new ColonnadeError("network_error", "The connection was lost before the last row.");
}

/** Whether a later try may succeed. */
function isTransient({ code, status }: ColonnadeError): boolean {
  const isReady = status === undefined || !NOT_READY.has(status);
  return CONNECTION_LOST.has(code) || code === "unexpected_content_type" || !isReady;
}
