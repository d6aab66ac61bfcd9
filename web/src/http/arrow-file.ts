/** An Arrow file begins and ends with `ARROW1`. */
const MAGIC = [0x41, 0x52, 0x52, 0x4f, 0x57, 0x31];

/** After the footer: its length and the magic. */
const TAIL_BYTES = 10;

/** The longest footer that the decoder takes. */
const MAX_FOOTER_BYTES = 16 * 1024 * 1024;

/** An end-of-stream marker. */
const MARKER = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/** The footer of an Arrow file. */
export interface FileFooter {
  file: Blob;
  bytes: Uint8Array;
  /** Its offset in the file, in bytes. */
  start: number;
}

/** Whether bytes begin as an Arrow file does. */
export function isArrowFile(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

/**
 * The footer of an Arrow file. Undefined for anything else, and for a truncated file, whose rows are
 * read in order until the end.
 */
export async function findFooter(file: Blob): Promise<FileFooter | undefined> {
  const read = async (start: number, end: number) =>
    new Uint8Array(await file.slice(start, end).arrayBuffer());
  const tailStart = file.size - TAIL_BYTES;
  if (tailStart < 8 || !isArrowFile(await read(0, 6))) return undefined;
  const tail = await read(tailStart, file.size);
  if (!isArrowFile(tail.subarray(4))) return undefined;
  const numBytes = new DataView(tail.buffer).getInt32(0, true);
  const start = tailStart - numBytes;
  if (numBytes < 0 || numBytes > MAX_FOOTER_BYTES || start < 8) return undefined;
  return { file, bytes: await read(start, tailStart), start };
}

/** A stream of byte ranges of a file, given as pairs of start and end, and an end-of-stream marker. */
export function streamOfRanges(file: Blob, ranges: Float64Array): ReadableStream<Uint8Array> {
  const slices: Blob[] = [];
  for (let index = 0; index < ranges.length; index += 2) {
    slices.push(file.slice(ranges[index], ranges[index + 1]));
  }
  return new Blob([...slices, MARKER]).stream();
}
