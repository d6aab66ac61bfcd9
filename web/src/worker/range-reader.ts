import { type Body, openBody } from "../http/body.js";
import { resumeRequest } from "../http/query-request.js";
import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { Interruption } from "../model/progress.js";
import type { QueryRange, UrlSource } from "../model/wire-source.js";
import type { BodyDecoder } from "./body-decoder.js";
import { feedDecoder } from "./feed-decoder.js";
import { connectionLost, Reconnector, type RetryPolicy, readError } from "./reconnector.js";

/** Reads one range of a result's rows into a decoder, and reconnects if the connection is lost. */
export class RangeReader {
  readonly #source: UrlSource;
  readonly #policy: RetryPolicy;
  #reconnector: Reconnector | undefined;

  constructor(source: UrlSource, policy: RetryPolicy) {
    this.#source = source;
    this.#policy = policy;
  }

  /** Reconnects now rather than at the next try. */
  retryNow(): void {
    this.#reconnector?.retryNow();
  }

  /**
   * Reads all rows of the range. Rejects with the error, or with `cancelled`.
   *
   * @param isRepeatable whether the same request gives the same rows again
   * @param onInterruption called while the connection is lost, and with undefined once it is back
   */
  async read(
    range: QueryRange,
    decoder: BodyDecoder,
    isRepeatable: boolean,
    signal: AbortSignal,
    onInterruption: (interruption: Interruption | undefined) => void,
  ): Promise<void> {
    const { stallMs } = this.#policy;
    const reconnector = new Reconnector(this.#source, range, signal, this.#policy, onInterruption);
    reconnector.isRepeatable = isRepeatable;
    this.#reconnector = reconnector;
    let lastPieceMs = 0;
    const request = resumeRequest(this.#source, range, 0);
    // If it fails, the reconnector requests the rows again, and its error then counts.
    let next: Body | ColonnadeError = await openBody(request, signal, stallMs).catch(
      connectionLost,
    );
    for (;;) {
      if (next instanceof ColonnadeError) {
        const answer = await reconnector.next(next, decoder.numRows, lastPieceMs);
        if ("error" in answer) throw answer.error;
        decoder.resume(answer.firstRow);
        next = answer.body;
      }
      try {
        const onPiece = (piece: Uint8Array) => {
          lastPieceMs = performance.now();
          decoder.push(piece);
          onInterruption(undefined);
        };
        if (await feedDecoder(decoder, onPiece, next, signal, stallMs)) return;
        if (signal.aborted) throw cancelledError();
        decoder.end(next.end);
        return;
      } catch (thrown) {
        next = readError(thrown);
      }
    }
  }
}
