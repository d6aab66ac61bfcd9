import { type PortReply, type PortRequest, serveStream } from "../http/port-stream.js";
import { plainSourceError } from "../model/errors.js";

/** The size of a piece for requests that bring no buffer. */
const PIECE_BYTES = 1024 * 1024;

/** Like {@link serveStream}, but a byte stream writes into the buffers that the requests bring. */
export function serveBytes(stream: ReadableStream<Uint8Array>, port: MessagePort): void {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: "byob" });
  } catch {
    serveStream(stream, port);
    return;
  }
  port.onmessage = async ({ data }: MessageEvent<PortRequest>) => {
    if (data === "cancel") {
      port.close();
      await reader.cancel().catch(() => undefined);
      return;
    }
    try {
      const buffer = data.pull ?? new ArrayBuffer(PIECE_BYTES);
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (done || value === undefined) port.postMessage({ done: true } satisfies PortReply);
      else port.postMessage({ piece: value } satisfies PortReply, [value.buffer]);
    } catch (thrown) {
      port.postMessage({ error: plainSourceError(thrown) } satisfies PortReply);
    }
  };
}
