/** Details of a failure besides its code and message. */
export interface ErrorDetails {
  /** The first row that could not be read, counted from 0. */
  row?: number | undefined;
  /** The position in the stream, in bytes, at which reading stopped. */
  byte?: number | undefined;
  /** How to solve it, in one sentence. */
  hint?: string | undefined;
  /** The HTTP status, if the server refused. */
  status?: number | undefined;
  /** How long the server asks to wait before the next try, in milliseconds. */
  retryAfterMs?: number | undefined;
}

/** A {@link ColonnadeError} in a form that survives `postMessage`. */
export interface PlainError extends ErrorDetails {
  code: string;
  message: string;
}

/** Any failure of this package: a stable `code` to test for and a `message` to show. */
export class ColonnadeError extends Error {
  override readonly name = "ColonnadeError";
  /**
   * Stable, in snake_case: a code of the server, or one of the error codes of this package. In the descriptions
   * of the codes, the producer is the program that wrote the stream, such as a Colonnade server. A Colonnade
   * server adds to each message its number, the number of its first row and, if requested, a hash.
   */
  readonly code: string;
  readonly row: number | undefined;
  readonly byte: number | undefined;
  readonly hint: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message);
    this.code = code;
    this.row = details.row;
    this.byte = details.byte;
    this.hint = details.hint;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }

  /** The same error as a plain object, for `postMessage` and logs. */
  toJSON(): PlainError {
    const { code, message, row, byte, hint, status, retryAfterMs } = this;
    return { code, message, row, byte, hint, status, retryAfterMs };
  }

  static fromPlain(plain: PlainError): ColonnadeError {
    return new ColonnadeError(plain.code, plain.message, plain);
  }

  /**
   * Converts any thrown value to a ColonnadeError. Errors with a `code` string, such as the decoder's,
   * keep it; others get `fallbackCode`.
   */
  static from(thrown: unknown, fallbackCode: string): ColonnadeError {
    if (thrown instanceof ColonnadeError) return thrown;
    if (!(thrown instanceof Error)) return new ColonnadeError(fallbackCode, String(thrown));
    if (isTrap(thrown)) {
      return new ColonnadeError("decoder_crashed", `The decoder stopped: ${thrown.message}.`, {
        hint: "Rows on the screen stay; the others are lost. Read the source again.",
      });
    }
    const { code, row, byte } = thrown as { code?: unknown; row?: unknown; byte?: unknown };
    return new ColonnadeError(typeof code === "string" ? code : fallbackCode, thrown.message, {
      row: typeof row === "number" ? row : undefined,
      byte: typeof byte === "number" ? byte : undefined,
    });
  }
}

/**
 * What the page's own `fetch` or stream threw, in a form that survives `postMessage`: `network_error` for what
 * browsers throw when a connection is lost, a TypeError or a DOMException; otherwise `source_error`.
 */
export function plainSourceError(thrown: unknown): PlainError {
  if (thrown instanceof ColonnadeError) return thrown.toJSON();
  const { name, message } = thrown instanceof Error ? thrown : { name: "", message: `${thrown}` };
  if (/^(?:Type|Network|Abort|Timeout)Error$/.test(name)) return { code: "network_error", message };
  return new ColonnadeError("source_error", message).toJSON();
}

/** The error to throw for it on the other side of the `postMessage`. */
export function thrownFrom(plain: PlainError): Error {
  const isLost = plain.code === "network_error";
  return isLost ? new TypeError(plain.message) : ColonnadeError.fromPlain(plain);
}

/** Whether the module trapped or overflowed its stack, so that its memory may be inconsistent. */
function isTrap(thrown: Error): boolean {
  const isStackOverflow = /call stack|too much recursion/.test(thrown.message);
  return thrown instanceof WebAssembly.RuntimeError || isStackOverflow;
}

/** Errors after which a table's worker no longer answers. */
export function isFatal({ code }: ColonnadeError): boolean {
  return /^(?:decoder_crashed|worker_(?:failed|lost|unavailable))$/.test(code);
}

/** Whether a worker ended, for a reason that need not lie in its rows. */
export function isWorkerGone({ code }: ColonnadeError): boolean {
  return code === "worker_failed" || code === "worker_lost";
}

/** The error of a worker that ended without a word, or of a message that the browser could not deliver. */
export function workerLost(): ColonnadeError {
  return new ColonnadeError("worker_lost", "The browser ended the worker that held these rows.", {
    hint: "It may have needed the memory. Open the table again.",
  });
}

/** The error of a worker that does not start. */
export function workerUnavailable(thrown: unknown): ColonnadeError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new ColonnadeError("worker_unavailable", `Could not start a worker: ${reason}`, {
    hint: "Check that worker.js is at workerSrc (worker-src) and that the page's policy allows it.",
  });
}

/** The error with a position, unless it has one already. */
export function withPosition(error: ColonnadeError, row: number, byte: number): ColonnadeError {
  return ColonnadeError.fromPlain({
    ...error.toJSON(),
    row: error.row ?? row,
    byte: error.byte ?? byte,
  });
}

/** The error of work that was cancelled; `work` names it. */
export function cancelledError(work = "stream"): ColonnadeError {
  return new ColonnadeError("cancelled", `The ${work} was cancelled.`);
}

/** The error of a request for rows of a table that has none yet. */
export function noRows(): ColonnadeError {
  return new ColonnadeError("no_rows", "There is nothing to read yet.");
}
