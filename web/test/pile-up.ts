import { vi } from "vitest";

/** Makes streams like those of WebKit's responses, which cannot be read into the reader's buffers. */
export function pileUp(): void {
  const { getReader } = ReadableStream.prototype;
  vi.spyOn(ReadableStream.prototype, "getReader").mockImplementation(function (
    this: ReadableStream,
    options,
  ) {
    if (options !== undefined) throw new TypeError("not a byte stream");
    return getReader.call(this);
  } as typeof getReader);
}
