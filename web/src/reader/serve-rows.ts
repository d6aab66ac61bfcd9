import type { PortReply, PortRequest } from "../http/port-stream.js";
import { serveStream } from "../http/serve-ports.js";
import { plainSourceError } from "../model/errors.js";
import { PIECE_BYTES, RowStream } from "./row-stream.js";

/** Like {@link serveStream}, but rows are written into the buffers that the requests bring. */
export function serveRows(stream: ReadableStream<Uint8Array>, port: MessagePort): void {
  // A browser may wrap the stream of a response.
  if (!(stream instanceof RowStream)) {
    serveStream(stream, port);
    return;
  }
  const { source } = stream;
  port.onmessage = async ({ data }: MessageEvent<PortRequest>) => {
    if (data === "cancel") {
      port.close();
      source.cancel();
      return;
    }
    try {
      const buffer = new Uint8Array(data.pull ?? new ArrayBuffer(PIECE_BYTES));
      const numBytes = await source.read(buffer);
      const piece = buffer.subarray(0, numBytes);
      if (numBytes === 0) port.postMessage({ done: true } satisfies PortReply);
      else port.postMessage({ piece } satisfies PortReply, [piece.buffer]);
    } catch (thrown) {
      port.postMessage({ error: plainSourceError(thrown) } satisfies PortReply);
    }
  };
}
