import { type PlainError, plainSourceError, thrownFrom } from "../model/errors.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";

/** Requests the next piece; `pull` is the buffer of the last one, to be filled again. */
export type PortRequest = { pull: ArrayBuffer | undefined } | "cancel";
/** The answer: the next piece, or how the stream ended. */
export type PortReply = { piece: Uint8Array<ArrayBuffer> } | { done: true } | { error: PlainError };

/** The size of a message: large enough for few of them, small enough to copy in a fraction of a frame. */
const PIECE_BYTES = 1024 * 1024;

/**
 * Serves a stream through a port, one piece for each request, because not every browser can transfer
 * streams. Chunks that are available are sent together.
 */
export function serveStream(stream: ReadableStream<Uint8Array>, port: MessagePort): void {
  const reader = stream.getReader();
  let pending: ReturnType<typeof reader.read> | undefined;
  /** The unsent rest of a chunk. */
  let rest: Uint8Array = new Uint8Array(0);

  /**
   * Copies the next bytes into `buffer`, because their owner may still use them: at least one chunk,
   * and those that arrive within the same task. Undefined at the end.
   */
  async function fill(buffer: ArrayBuffer): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const piece = new Uint8Array(buffer);
    let filled = 0;
    let late: Promise<undefined> | undefined;
    while (filled < piece.length) {
      if (rest.length === 0) {
        pending ??= reader.read();
        late ??= filled > 0 ? yieldToEventLoop().then(() => undefined) : undefined;
        let next: Awaited<typeof pending> | undefined;
        try {
          next = await (late === undefined ? pending : Promise.race([pending, late]));
        } catch (thrown) {
          if (filled === 0) throw thrown;
        }
        // The bytes so far are sent before a later chunk, the end or a failure.
        if (filled > 0 && next?.value === undefined) break;
        pending = undefined;
        if (next?.value === undefined) return undefined;
        rest = next.value;
      }
      const bytes = rest.subarray(0, piece.length - filled);
      piece.set(bytes, filled);
      filled += bytes.length;
      rest = rest.subarray(bytes.length);
    }
    return piece.subarray(0, filled);
  }

  port.onmessage = async ({ data }: MessageEvent<PortRequest>) => {
    if (data === "cancel") {
      port.close();
      await reader.cancel().catch(() => undefined);
      return;
    }
    try {
      const piece = await fill(data.pull ?? new ArrayBuffer(PIECE_BYTES));
      if (piece === undefined) port.postMessage({ done: true } satisfies PortReply);
      else port.postMessage({ piece } satisfies PortReply, [piece.buffer]);
    } catch (thrown) {
      port.postMessage({ error: plainSourceError(thrown) } satisfies PortReply);
    }
  };
}

/**
 * The other end of {@link serveStream}. Each piece is valid until the next is requested, because its
 * buffer is then sent back to be filled again: new memory costs more than copying into old.
 *
 * @param isKept the consumer keeps the pieces, so each has its own buffer
 * @param onEnd called at the end of the stream, and with true when it is cancelled
 */
export function streamFromPort(
  port: MessagePort,
  isKept = false,
  onEnd: (isCancelled?: boolean) => void = () => {},
): ReadableStream<Uint8Array> {
  let buffer: ArrayBuffer | undefined;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise((resolve) => {
          port.onmessage = ({ data }: MessageEvent<PortReply>) => {
            if ("piece" in data) {
              if (!isKept) buffer = data.piece.buffer;
              controller.enqueue(data.piece);
            } else {
              port.close();
              onEnd();
              if ("error" in data) controller.error(thrownFrom(data.error));
              else controller.close();
            }
            resolve();
          };
          const request: PortRequest = { pull: buffer };
          port.postMessage(request, buffer === undefined ? [] : [buffer]);
        }),
      cancel: () => {
        port.postMessage("cancel" satisfies PortRequest);
        port.close();
        onEnd(true);
      },
    },
    { highWaterMark: 0 },
  );
}
