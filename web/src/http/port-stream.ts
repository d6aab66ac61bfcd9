import { yieldToEventLoop } from "../rpc/event-loop.js";

/** Asks for the next piece; `buffer` is that of the last one, to be filled again. */
type PortRequest = { pull: ArrayBuffer | undefined } | "cancel";
type PortReply = { piece: Uint8Array<ArrayBuffer> } | { done: true } | { error: string };

/** What goes through a port at once: enough that messages cost little, a fraction of a frame to copy. */
const PIECE_BYTES = 1024 * 1024;

/**
 * Serves a stream through a port, one piece for each request that comes back over it. Streams
 * cannot be transferred in every browser, ports can. Chunks that are there already go together.
 */
export function serveStream(stream: ReadableStream<Uint8Array>, port: MessagePort): void {
  const reader = stream.getReader();
  let pending: ReturnType<typeof reader.read> | undefined;
  /** What is left of a chunk. */
  let rest: Uint8Array = new Uint8Array(0);

  /**
   * Copies the next bytes, whose owner may still use them, into `buffer`: a chunk at least, then
   * what comes before the next task. Undefined at the end.
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
        // What is not there yet, the end or a failure comes behind the bytes before it.
        if (filled > 0 && next?.value === undefined) break;
        pending = undefined;
        if (next?.value === undefined) return undefined;
        rest = next.value;
      }
      const part = rest.subarray(0, piece.length - filled);
      piece.set(part, filled);
      filled += part.length;
      rest = rest.subarray(part.length);
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
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      port.postMessage({ error } satisfies PortReply);
    }
  };
}

/**
 * The other end of {@link serveStream}. Each piece is valid until the next is asked for: its buffer
 * goes back to be filled again, since new memory costs more than copying into old.
 *
 * @param isKept whoever reads keeps the pieces: each has memory of its own
 * @param onEnd called when no more is read, because there is no more or nobody wants it
 */
export function streamFromPort(
  port: MessagePort,
  isKept = false,
  onEnd = () => {},
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
              if ("error" in data) controller.error(new Error(data.error));
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
        onEnd();
      },
    },
    { highWaterMark: 0 },
  );
}
