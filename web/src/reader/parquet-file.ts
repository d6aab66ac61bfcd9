import type { FileFacts, FileSource } from "../model/file-source.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import { BlobBytes, type ByteSource } from "./byte-source.js";
import { ParquetModule } from "./parquet-module.js";
import { RemoteBytes } from "./remote-bytes.js";

/** A Parquet file that is open. */
export class ParquetFile {
  readonly #bytes: ByteSource;
  readonly #module: ParquetModule;
  readonly numRows: number;

  private constructor(bytes: ByteSource, module: ParquetModule) {
    this.#bytes = bytes;
    this.#module = module;
    this.numRows = module.numRows;
  }

  /** Reads the footer of a file. Rejects with what is wrong with the file or its host. */
  static async open(
    file: FileSource,
    compiled: Promise<WebAssembly.Module>,
    signal: AbortSignal,
  ): Promise<ParquetFile> {
    // The module is loaded while the host is asked.
    const making = compiled.then((module) => ParquetModule.make(module));
    const [bytes, module] = await Promise.all([openBytes(file, signal), making]);
    module.begin(bytes.size);
    for (;;) {
      const needed = module.open();
      if (needed.length === 0) return new ParquetFile(bytes, module);
      const parts = needed.map(async ([start, end]) => {
        module.putOpening(start, await bytes.read(start, end, signal));
      });
      await Promise.all(parts);
    }
  }

  get facts(): FileFacts {
    const { size, warning } = this.#bytes;
    return { rows: this.numRows, bytes: size, warning };
  }

  /** Rows `[start, end)` as an Arrow stream, which is made as it is read. */
  rows(start: number, end: number, signal: AbortSignal): ReadableStream<Uint8Array> {
    const stopped = new AbortController();
    const pieces = this.#pieces(start, end, AbortSignal.any([signal, stopped.signal]));
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { value, done } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: async () => {
          stopped.abort();
          await pieces.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  async *#pieces(
    start: number,
    end: number,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, void> {
    const module = this.#module;
    const reader = module.read(start, end);
    const stopped = new AbortController();
    const either = AbortSignal.any([signal, stopped.signal]);
    const fetches = new Set<Promise<void>>();
    try {
      for (;;) {
        signal.throwIfAborted();
        const step = module.step(reader);
        for (const [from, to] of module.wanted(reader)) {
          const fetched = this.#bytes.read(from, to, either).then((bytes) => {
            module.put(reader, from, bytes);
            fetches.delete(fetched);
          });
          // A failure is thrown when the rows need these bytes.
          fetched.catch(() => undefined);
          fetches.add(fetched);
        }
        if (step === "done") return;
        if (step === "starved") await Promise.race(fetches);
        else if (step === "worked") await yieldToEventLoop();
        else yield step;
      }
    } finally {
      stopped.abort();
      module.close(reader);
    }
  }
}

/** The bytes of a file. Rejects with what is wrong with its host. */
async function openBytes(file: FileSource, signal: AbortSignal): Promise<ByteSource> {
  return file.kind === "blob" ? new BlobBytes(file.blob) : RemoteBytes.open(file, signal);
}
