import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { ByteSource } from "./byte-source.js";
import type { ParquetModule } from "./parquet-module.js";

/** How many messages are made before they are read, so that who decodes them need not wait. */
const MAX_AHEAD = 8;

/** The size of a piece if its reader brings no buffer. */
export const PIECE_BYTES = 1024 * 1024;

/** Rows of a file as the bytes of an Arrow stream, which is made as it is read. */
export class RowStream extends ReadableStream<Uint8Array> {
  /** Can be read instead of the stream, into buffers that are used again: new memory costs more than copying. */
  readonly source: RowSource;

  constructor(source: RowSource) {
    super(
      {
        pull: async (controller) => {
          const piece = new Uint8Array(PIECE_BYTES);
          const numBytes = await source.read(piece);
          if (numBytes === 0) controller.close();
          else controller.enqueue(piece.subarray(0, numBytes));
        },
        cancel: () => source.cancel(),
      },
      { highWaterMark: 0 },
    );
    this.source = source;
  }
}

/** Copies the messages that the module makes of rows. */
export class RowSource {
  readonly #bytes: ByteSource;
  readonly #module: ParquetModule;
  readonly #begin: () => number;
  readonly #signal: AbortSignal;
  readonly #stopped = new AbortController();
  readonly #fetches = new Set<Promise<void>>();
  #reader: number | undefined;
  /** What did not fit the last buffer. */
  #rest: Uint8Array = new Uint8Array();
  #working: Promise<void> | undefined;
  #numMade = 0;
  #numAhead = 1;
  #isDone = false;
  #failure: { thrown: unknown } | undefined;

  /** @param begin begins to read in the module; returns the number of the reader */
  constructor(bytes: ByteSource, module: ParquetModule, begin: () => number, signal: AbortSignal) {
    this.#bytes = bytes;
    this.#module = module;
    this.#begin = begin;
    this.#signal = AbortSignal.any([signal, this.#stopped.signal]);
  }

  /** Writes the next bytes; returns how many, 0 at the end. */
  async read(buffer: Uint8Array): Promise<number> {
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        const numBytes = this.#fill(buffer);
        if (numBytes > 0) {
          void this.#workAhead();
          return numBytes;
        }
        if (this.#failure !== undefined) throw this.#failure.thrown;
        if (this.#isDone) {
          this.cancel();
          return 0;
        }
        await this.#work();
      }
    } catch (thrown) {
      this.cancel();
      throw thrown;
    }
  }

  /** Ends the reading. */
  cancel(): void {
    this.#stopped.abort();
    if (this.#reader !== undefined) this.#module.close(this.#reader);
    this.#reader = undefined;
  }

  /** Copies messages that are made; returns how many bytes. */
  #fill(buffer: Uint8Array): number {
    let filled = 0;
    /** Returns what does not fit. */
    const put = (bytes: Uint8Array) => {
      const fitting = bytes.subarray(0, buffer.length - filled);
      buffer.set(fitting, filled);
      filled += fitting.length;
      return bytes.subarray(fitting.length);
    };
    this.#rest = put(this.#rest);
    while (this.#reader !== undefined && this.#rest.length === 0) {
      const numBytes = this.#module.messageBytes(this.#reader);
      if (numBytes === 0 || (filled > 0 && filled + numBytes > buffer.length)) break;
      this.#rest = put(this.#module.takeMessage(this.#reader)).slice();
      this.#numMade--;
    }
    return filled;
  }

  async #workAhead(): Promise<void> {
    this.#numAhead = Math.min(2 * this.#numAhead, MAX_AHEAD);
    const isOver = () => this.#isDone || this.#failure !== undefined || this.#signal.aborted;
    while (this.#numMade < this.#numAhead && !isOver()) {
      await this.#work();
      // Requests for bytes are answered before further rows are decoded.
      await yieldToEventLoop();
    }
  }

  /** Does a piece of work, which is the same for all who wait for it. */
  #work(): Promise<void> {
    this.#working ??= this.#step()
      .catch((thrown: unknown) => {
        this.#failure = { thrown };
      })
      .finally(() => {
        this.#working = undefined;
      });
    return this.#working;
  }

  async #step(): Promise<void> {
    this.#reader ??= this.#begin();
    const [module, reader] = [this.#module, this.#reader];
    const step = module.step(reader);
    for (const [from, to] of module.wanted(reader)) {
      const fetched = this.#bytes.read(from, to, this.#signal).then((bytes) => {
        module.put(reader, from, bytes);
        this.#fetches.delete(fetched);
      });
      // A failure is thrown when the rows need these bytes.
      fetched.catch(() => undefined);
      this.#fetches.add(fetched);
    }
    if (step === "message") this.#numMade++;
    else if (step === "worked") await yieldToEventLoop();
    else if (step === "starved") await Promise.race(this.#fetches);
    else this.#isDone = true;
  }
}
