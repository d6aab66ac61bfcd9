/** A task of the driver for a page: the runs of one reader over one stream, in a new worker. */
export interface Task {
  reader: string;
  /** The URL of the stream. */
  url: string;
  /**
   * `chunks`: the stream is fetched beforehand and given in pieces of 64 KiB; `network`: the reader
   * fetches it; `kernels`: it is decoded, then the kernels run over it.
   */
  kind: "chunks" | "network" | "kernels";
  /** The number of runs, one after another in the same worker; the first one is cold. */
  numRuns: number;
  /** Whether every value is read after decoding. */
  touches: boolean;
  /** Whether to time each batch of readers that return batches as they arrive; needs an isolated page. */
  timesBatches: boolean;
  /** The text that `find` searches for. */
  needle: string;
}

/** The measurements of one run. */
export interface Run {
  /** Milliseconds by work: `decode`, `touch`, `both`, or a kernel's name. */
  ms: Record<string, number>;
  /** A checksum that is the same for every reader of the stream. */
  checksum?: number | undefined;
  /** The size of the reader's wasm memory after decoding. */
  memoryBytes?: number | undefined;
  /** The time of each batch in microseconds. */
  batchUs?: number[] | undefined;
}

/** A stream that a reader has decoded. */
export interface Decoded {
  /** Reads every value; the sum of numbers, or of `textValue` of texts. */
  touch?(): Promise<number> | number;
  /** Releases the memory of decoding. */
  release(): void;
  memoryBytes?: number | undefined;
}

/** A stream to read. */
export interface Input {
  url: string;
  numBytes: number;
  /** The stream in pieces of 64 KiB, if it was fetched beforehand. */
  chunks: Uint8Array<ArrayBuffer>[] | undefined;
  /** The same in one piece. */
  whole: ArrayBuffer | undefined;
  /** Called with the number of batches so far, each time it may have grown. */
  onBatches?: ((numBatches: number) => void) | undefined;
}

export type Reader = (input: Input) => Promise<Decoded>;

/** The chunks as a stream. */
export function streamOf(chunks: Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const chunk = chunks[next++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

/** Fetches a URL; returns the body of the response. */
export async function fetchBody(url: string): Promise<ReadableStream<Uint8Array>> {
  const { body } = await fetch(url);
  if (body === null) throw new Error(`${url} has no body`);
  return body;
}
