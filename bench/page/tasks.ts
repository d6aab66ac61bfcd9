/** What the driver asks a page for: one reader's runs over one stream, in a worker of their own. */
export interface Task {
  reader: string;
  /** Address of the stream. */
  url: string;
  /**
   * `chunks`: the stream has been fetched and is given in pieces of 64 KiB; `network`: it is fetched;
   * `kernels`: it is decoded, then the kernels run over it.
   */
  kind: "chunks" | "network" | "kernels";
  /** How often, one after the other, in the same worker: the first run is the cold one. */
  numRuns: number;
  /** Whether every value is read after decoding. */
  touches: boolean;
  /** Whether each batch is timed, by readers that have batches as they come; wants a page alone in its process. */
  timesBatches: boolean;
  /** What `find` looks for. */
  needle: string;
}

/** What one run took. */
export interface Run {
  /** Milliseconds by what was done: `decode`, `touch`, or a kernel's name. */
  ms: Record<string, number>;
  /** The same for every reader of the stream. */
  checksum?: number | undefined;
  /** Size of the reader's wasm memory after decoding. */
  memoryBytes?: number | undefined;
  /** Microseconds that each batch took. */
  batchUs?: number[] | undefined;
}

/** Every reader, as the driver names them, is a function that makes this of a stream. */
export interface Decoded {
  /** Reads every value; the sum of numbers, or of `textValue` of texts. */
  touch?(): Promise<number> | number;
  /** Gives back what decoding took. */
  release(): void;
  memoryBytes?: number | undefined;
}

/** A stream to be read. */
export interface Input {
  url: string;
  numBytes: number;
  /** The stream in pieces of 64 KiB, where it has been fetched. */
  chunks: Uint8Array<ArrayBuffer>[] | undefined;
  /** The same in one piece. */
  whole: ArrayBuffer | undefined;
  /** Told how many batches there are now, each time it may be more. */
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

/** The body of an answer. */
export async function fetchBody(url: string): Promise<ReadableStream<Uint8Array>> {
  const { body } = await fetch(url);
  if (body === null) throw new Error(`${url} has no body`);
  return body;
}
