import { type PlainError, thrownFrom } from "../model/errors.js";

/** Requests the next piece; `pull` is the buffer of the last one, to be filled again. */
export type PortRequest = { pull: ArrayBuffer | undefined } | "cancel";
/** The answer: the next piece, or how the stream ended. */
export type PortReply = { piece: Uint8Array<ArrayBuffer> } | { done: true } | { error: PlainError };

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
