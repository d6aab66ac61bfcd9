import { readBody } from "../http/body.js";
import { settlesWithin, yieldToEventLoop } from "../rpc/event-loop.js";
import type { BodyDecoder } from "./body-decoder.js";

/** How long decoding may keep the worker from answering requests: half a frame. */
const MAX_BUSY_MS = 8;

/**
 * How long a body may take to end after its marker. If it is read to its end, the logs of browser and
 * server do not show an aborted request.
 */
const CLOSING_MS = 100;

/**
 * Reads a body into a decoder and yields to the worker's other requests every 8 ms. Resolves with true
 * at the end-of-stream marker, with false if the body ends or is aborted before it.
 *
 * @param onPiece decodes a piece
 */
export async function feedDecoder(
  decoder: BodyDecoder,
  onPiece: (piece: Uint8Array) => void | Promise<void>,
  ...[body, signal, stallMs]: Parameters<typeof readBody>
): Promise<boolean> {
  let busySinceMs = performance.now();
  const left = new AbortController();
  const pieces = readBody(body, AbortSignal.any([signal, left.signal]), stallMs);
  for await (const piece of pieces) {
    await onPiece(piece);
    // Bytes after the marker are ignored.
    if (decoder.isComplete) {
      if (!(await settlesWithin(pieces.next(), CLOSING_MS))) left.abort();
      return true;
    }
    if (performance.now() - busySinceMs > MAX_BUSY_MS) {
      await yieldToEventLoop();
      busySinceMs = performance.now();
    }
  }
  return false;
}
