import { type FileFooter, streamOfRanges } from "../http/arrow-file.js";
import { ColonnadeError, withPosition } from "../model/errors.js";
import type { Schema } from "../model/schema.js";
import type { EndRule } from "../model/wire-source.js";
import { Kernels } from "./kernels.js";
import type { WasmKernels } from "./wasm-kernels.js";

/** The wasm module's `Decoder`; see `wasm/src/lib.rs`. */
export interface WasmDecoder extends WasmKernels {
  spacePtr(): number;
  spaceLen(): number;
  advance(numBytes: number): void;
  resume(firstRow: number): void;
  openFile(footer: Uint8Array, start: number): Float64Array;
  block(firstRow: number, memoryBytes: number): WasmDecoder;
  keepFirst(numRows: number): void;
  setMemoryBytes(memoryBytes: number): void;
  memoryBytes(): number;
  finish(): void;
  isComplete(): boolean;
  atMessageBoundary(): boolean;
  schemaJson(): string | undefined;
  numRows(): number;
  numBatches(): number;
  free(): void;
}

/** Decodes the bytes of a body to rows. After a trap every call fails with `decoder_crashed`. */
export class BodyDecoder {
  readonly #decoder: WasmDecoder;
  readonly #memory: WebAssembly.Memory;
  #view = new Uint8Array(0);
  #schema: Schema | undefined;
  readonly #onCrash: ((error: ColonnadeError) => void) | undefined;
  #crash: ColonnadeError | undefined;
  #numBytes = 0;
  #numRows = 0;
  #numBatches = 0;
  /** The bytes of a push that were not taken when the memory budget was full. */
  #rest: Uint8Array | undefined;
  /** Reads, sorts and filters the rows that have arrived. */
  readonly kernels = new Kernels((work) => this.#guard(work));

  /** @param onCrash called once, when a call traps */
  constructor(
    decoder: WasmDecoder,
    memory: WebAssembly.Memory,
    onCrash?: (error: ColonnadeError) => void,
  ) {
    this.#decoder = decoder;
    this.#memory = memory;
    this.#onCrash = onCrash;
  }

  /** Bytes of the stream taken so far; bytes after the end-of-stream marker do not count. */
  get numBytes(): number {
    return this.#numBytes;
  }

  get numRows(): number {
    return this.#numRows;
  }

  get numBatches(): number {
    return this.#numBatches;
  }

  /** Whether the end-of-stream marker was seen. */
  get isComplete(): boolean {
    return this.#guard((decoder) => decoder.isComplete());
  }

  /** Undefined until the schema message has arrived. */
  get schema(): Schema | undefined {
    if (this.#schema === undefined) {
      const json = this.#guard((decoder) => decoder.schemaJson());
      if (json !== undefined) this.#schema = JSON.parse(json) as Schema;
    }
    return this.#schema;
  }

  /**
   * Begins a further response: the rest of the result from `firstRow` on, in the server's numbering.
   * Drops the half-read message and any error except a crash.
   */
  resume(firstRow: number): void {
    this.#guard((decoder) => decoder.resume(firstRow));
  }

  /** Begins an Arrow file. Returns its messages in the order of its footer, to be pushed. */
  openFile({ file, bytes, start }: FileFooter): ReadableStream<Uint8Array> {
    return streamOfRanges(
      file,
      this.#guard((decoder) => decoder.openFile(bytes, start)),
    );
  }

  /** Makes a decoder for other rows of the same result, from its row `firstRow` on. */
  block(firstRow: number, memoryBytes: number): BodyDecoder {
    const block = this.#guard((decoder) => decoder.block(firstRow, memoryBytes));
    return new BodyDecoder(block, this.#memory, this.#onCrash);
  }

  /** Drops the batches after row `numRows`; no more of the stream can be read. */
  keepFirst(numRows: number): void {
    this.#guard((decoder) => decoder.keepFirst(numRows));
    this.#count();
  }

  /** Bytes that the rows take. */
  get memoryBytes(): number {
    return this.#guard((decoder) => decoder.memoryBytes());
  }

  /** Frees the rows; they must not be read afterwards. */
  free(): void {
    if (this.#crash !== undefined) return;
    this.kernels.releaseAll();
    this.#decoder.free();
    this.#crash = new ColonnadeError("closed", "The table was closed.");
  }

  /**
   * Copies bytes straight into the decoder's memory: the one copy that wasm needs. After
   * `memory_budget_exceeded`, {@link grow} takes the rest of them.
   */
  push(bytes: Uint8Array): void {
    try {
      this.#guard((decoder) => this.#copy(bytes, decoder));
    } finally {
      this.#count();
    }
  }

  /** Continues the last push, which the memory budget ended, with a larger budget in bytes. */
  grow(memoryBytes: number): void {
    this.#guard((decoder) => decoder.setMemoryBytes(memoryBytes));
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) this.push(rest);
  }

  #count(): void {
    // A decoder that trapped must not be called again; its earlier counts still hold.
    if (this.#crash !== undefined) return;
    this.#numRows = this.#decoder.numRows();
    this.#numBatches = this.#decoder.numBatches();
  }

  #copy(bytes: Uint8Array, decoder: WasmDecoder): void {
    let taken = 0;
    try {
      while (taken < bytes.length && !decoder.isComplete()) {
        const numBytes = Math.min(decoder.spaceLen(), bytes.length - taken);
        // After a failure, which was thrown when it happened, the decoder takes no more bytes.
        if (numBytes === 0) return;
        // Pointers above 2 GiB arrive as negative numbers.
        const pointer = decoder.spacePtr() >>> 0;
        // The buffer is replaced whenever the memory grows, which the request for space may cause.
        if (this.#view.buffer !== this.#memory.buffer) {
          this.#view = new Uint8Array(this.#memory.buffer);
        }
        this.#view.set(bytes.subarray(taken, taken + numBytes), pointer);
        taken += numBytes;
        decoder.advance(numBytes);
        this.#numBytes += numBytes;
      }
    } catch (thrown) {
      this.#rest = bytes.subarray(taken);
      throw thrown;
    }
  }

  /**
   * Ends the body. Throws unless the table is complete; returns a warning if it is complete without
   * the end-of-stream marker.
   */
  end(rule: EndRule): "no_end_of_stream" | undefined {
    return this.#guard((decoder) => {
      if (decoder.isComplete()) return undefined;
      const isWhole = decoder.atMessageBoundary() && decoder.schemaJson() !== undefined;
      if (rule === "boundary" && isWhole) return "no_end_of_stream";
      decoder.finish();
      return undefined;
    });
  }

  #guard<T>(work: (decoder: WasmDecoder) => T): T {
    if (this.#crash !== undefined) throw this.#crash;
    try {
      return work(this.#decoder);
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "decode_error");
      if (error.code !== "decoder_crashed") throw error;
      this.#crash = withPosition(error, this.#numRows, this.#numBytes);
      this.#onCrash?.(this.#crash);
      throw this.#crash;
    }
  }
}
