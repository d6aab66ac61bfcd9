import { type Body, openBody } from "../http/body.js";
import { resumeRequest } from "../http/query-request.js";
import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { Interruption } from "../model/progress.js";
import type { QueryRange, UrlSource } from "../model/wire-source.js";
import type { BodyDecoder } from "./body-decoder.js";
import { endsSoon, readInSlices } from "./body-slices.js";
import { Reconnector, type RetryPolicy, readError } from "./reconnector.js";

/** Reads one range of a result's rows into a decoder, and reconnects where the connection breaks. */
export class RangeReader {
  readonly #source: UrlSource;
  readonly #range: QueryRange;
  readonly #abort = new AbortController();
  readonly #stallMs: number;
  readonly #reconnector: Reconnector;
  readonly #onInterruption: (interruption: Interruption | undefined) => void;
  #lastPieceMs = 0;

  /**
   * @param isRepeatable whether the same request gives the same rows again
   * @param onInterruption called while the connection is lost, and with undefined once it is back
   */
  constructor(
    source: UrlSource,
    range: QueryRange,
    policy: RetryPolicy,
    isRepeatable: boolean,
    onInterruption: (interruption: Interruption | undefined) => void,
  ) {
    this.#source = source;
    this.#range = range;
    this.#stallMs = policy.stallMs;
    this.#onInterruption = onInterruption;
    const { signal } = this.#abort;
    this.#reconnector = new Reconnector(source, range, signal, policy, onInterruption);
    this.#reconnector.isRepeatable = isRepeatable;
  }

  /** Reconnects now rather than at the next try. */
  retryNow(): void {
    this.#reconnector.retryNow();
  }

  /** Reads all rows of the range; rejects with why that failed, or with `cancelled`. */
  async read(decoder: BodyDecoder, signal: AbortSignal): Promise<void> {
    const stop = () => this.#abort.abort();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    try {
      await this.#readInto(decoder);
    } catch (thrown) {
      throw signal.aborted ? cancelledError() : thrown;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async #readInto(decoder: BodyDecoder): Promise<void> {
    const request = resumeRequest(this.#source, this.#range, 0);
    let next: Body | ColonnadeError = await openBody(
      request,
      this.#abort.signal,
      this.#stallMs,
    ).catch(
      // The reconnector requests the rows again, and its error then counts.
      () => new ColonnadeError("network_error", "The rows could not be requested."),
    );
    for (;;) {
      let firstRow: number | undefined;
      if (next instanceof ColonnadeError) {
        const answer = await this.#reconnector.next(next, decoder.numRows, this.#lastPieceMs);
        if ("error" in answer) throw answer.error;
        ({ body: next, firstRow } = answer);
      }
      try {
        if (firstRow !== undefined) decoder.resume(firstRow);
        return await this.#readBody(decoder, next);
      } catch (thrown) {
        next = readError(thrown);
      }
    }
  }

  async #readBody(decoder: BodyDecoder, { stream, end }: Body): Promise<void> {
    const { signal } = this.#abort;
    const pieces = readInSlices(stream, signal, this.#stallMs);
    for await (const piece of pieces) {
      this.#lastPieceMs = performance.now();
      decoder.push(piece);
      this.#onInterruption(undefined);
      if (decoder.isComplete) {
        if (!(await endsSoon(pieces))) this.#abort.abort();
        return;
      }
    }
    if (signal.aborted) throw cancelledError();
    decoder.end(end);
  }
}
