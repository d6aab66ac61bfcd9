import { readBody } from "../http/body.js";
import { settlesWithin, yieldToEventLoop } from "../rpc/event-loop.js";

/** How long decoding may keep the worker from answering requests: half a frame. */
const MAX_BUSY_MS = 8;

/**
 * How long a body may take to end after its marker. One that is read to its end is not an aborted
 * request in the browser's log and the server's.
 */
const CLOSING_MS = 100;

/** As {@link readBody}, but lets the worker answer requests every 8 ms. */
export async function* readInSlices(
  ...args: Parameters<typeof readBody>
): ReturnType<typeof readBody> {
  let busySinceMs = performance.now();
  for await (const piece of readBody(...args)) {
    yield piece;
    if (performance.now() - busySinceMs > MAX_BUSY_MS) {
      await yieldToEventLoop();
      busySinceMs = performance.now();
    }
  }
}

/** Whether a body ends soon after its marker. */
export function endsSoon(pieces: ReturnType<typeof readBody>): Promise<boolean> {
  return settlesWithin(pieces.next(), CLOSING_MS);
}
