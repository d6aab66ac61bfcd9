import { ColonnadeError } from "../model/errors.js";

/** What a call of the module says; see `reader/wasm/src/lib.rs`. */
export const Status = { worked: 0, starved: 1, message: 2, done: 3, failed: 4 } as const;

interface Exports {
  memory: WebAssembly.Memory;
  input(numBytes: number): number;
  output(): number;
  output_bytes(): number;
  begin(fileBytes: number): void;
  open(): number;
  put_opening(start: number): void;
  num_rows(): number;
  column_costs(): void;
  read(start: number, end: number): number;
  read_rows(firstRow: number, numColumns: number): number;
  step(reader: number): number;
  message_bytes(reader: number): number;
  take_message(reader: number): void;
  wanted(reader: number): void;
  put(reader: number, start: number): void;
  close(reader: number): void;
}

/** Bytes `[start, end)` of a file. */
export type ByteRange = readonly [start: number, end: number];

/** What it takes to read all values of a column, in bytes: in the file, and in memory at least. */
export interface ColumnCost {
  fileBytes: number;
  memoryBytes: number;
}

/**
 * One file in an instance of the reader's module of its own. If the module traps, every later call throws
 * `reader_crashed`, and only this file is lost.
 */
export class ParquetModule {
  readonly #exports: Exports;
  #crash: ColonnadeError | undefined;

  private constructor(instance: WebAssembly.Instance) {
    this.#exports = instance.exports as unknown as Exports;
  }

  static async make(module: WebAssembly.Module): Promise<ParquetModule> {
    return new ParquetModule(await WebAssembly.instantiate(module, {}));
  }

  /** Begins a file of `fileBytes` bytes. */
  begin(fileBytes: number): void {
    this.#call((exports) => exports.begin(fileBytes));
  }

  /** The ranges that are needed to open the file; none once it is open. */
  open(): ByteRange[] {
    return this.#call((exports) =>
      this.#checked(exports.open()) === Status.done ? [] : this.#ranges(),
    );
  }

  /** Takes bytes that `open` asked for. */
  putOpening(start: number, bytes: Uint8Array): void {
    this.#call((exports) => {
      this.#write(bytes);
      exports.put_opening(start);
    });
  }

  get numRows(): number {
    return this.#call((exports) => exports.num_rows());
  }

  get columnCosts(): ColumnCost[] {
    return this.#call((exports) => {
      exports.column_costs();
      return this.#ranges().map(([fileBytes, memoryBytes]) => ({ fileBytes, memoryBytes }));
    });
  }

  /** Begins to read rows `[start, end)` of some columns, or of all; returns the number of the reader. */
  read(start: number, end: number, columns: readonly number[]): number {
    return this.#call((exports) => {
      this.#writeNumbers(Uint32Array.from(columns));
      return exports.read(start, end);
    });
  }

  /** Begins to read these rows of some columns, or of all, in this order; in the stream, the first one is `firstRow`. */
  readRows(rows: Uint32Array, firstRow: number, columns: readonly number[]): number {
    return this.#call((exports) => {
      const numbers = new Uint32Array(columns.length + rows.length);
      numbers.set(columns);
      numbers.set(rows, columns.length);
      this.#writeNumbers(numbers);
      return exports.read_rows(firstRow, columns.length);
    });
  }

  /** Lets a reader do a piece of work, and says what it did. Throws what is wrong with the file. */
  step(reader: number): "message" | "worked" | "starved" | "done" {
    return this.#call((exports) => {
      switch (this.#checked(exports.step(reader))) {
        case Status.message:
          return "message";
        case Status.worked:
          return "worked";
        case Status.starved:
          return "starved";
        default:
          return "done";
      }
    });
  }

  /** The length of a reader's next message, in bytes; 0 if none is made. */
  messageBytes(reader: number): number {
    return this.#call((exports) => exports.message_bytes(reader) >>> 0);
  }

  /** A reader's next message. It is valid until the next call. */
  takeMessage(reader: number): Uint8Array {
    return this.#call((exports) => {
      exports.take_message(reader);
      return this.#outputView();
    });
  }

  /** The ranges that a reader needs and that were not returned before. */
  wanted(reader: number): ByteRange[] {
    return this.#call((exports) => {
      exports.wanted(reader);
      return this.#ranges();
    });
  }

  /** Takes bytes that a reader wanted. */
  put(reader: number, start: number, bytes: Uint8Array): void {
    this.#call((exports) => {
      this.#write(bytes);
      exports.put(reader, start);
    });
  }

  close(reader: number): void {
    if (this.#crash === undefined) this.#call((exports) => exports.close(reader));
  }

  #call<T>(work: (exports: Exports) => T): T {
    if (this.#crash !== undefined) throw this.#crash;
    try {
      return work(this.#exports);
    } catch (thrown) {
      if (thrown instanceof ColonnadeError) throw thrown;
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      this.#crash = new ColonnadeError("reader_crashed", `The file's reader stopped: ${reason}.`, {
        hint: "The file is probably damaged, or needs more memory than there is. Other tables are not affected.",
      });
      throw this.#crash;
    }
  }

  #checked(status: number): number {
    if (status !== Status.failed) return status;
    throw ColonnadeError.fromPlain(JSON.parse(new TextDecoder().decode(this.#output())));
  }

  #output(): Uint8Array<ArrayBuffer> {
    return this.#outputView().slice();
  }

  #outputView(): Uint8Array<ArrayBuffer> {
    const { memory, output, output_bytes } = this.#exports;
    // Addresses above 2 GiB are negative numbers here.
    return new Uint8Array(memory.buffer as ArrayBuffer, output() >>> 0, output_bytes() >>> 0);
  }

  #ranges(): ByteRange[] {
    const ends = new Float64Array(this.#output().buffer);
    return Array.from({ length: ends.length / 2 }, (_, index) => [
      ends[2 * index] ?? 0,
      ends[2 * index + 1] ?? 0,
    ]);
  }

  #writeNumbers({ buffer }: Uint32Array<ArrayBuffer>): void {
    this.#write(new Uint8Array(buffer));
  }

  #write(bytes: Uint8Array): void {
    const start = this.#exports.input(bytes.length) >>> 0;
    new Uint8Array(this.#exports.memory.buffer).set(bytes, start);
  }
}
