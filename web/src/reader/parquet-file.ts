import type { FileSource, FileWarning } from "../model/file-source.js";
import { BlobBytes, type ByteSource } from "./byte-source.js";
import { type ColumnCost, ParquetModule } from "./parquet-module.js";
import { RemoteBytes } from "./remote-bytes.js";
import { RowSource, RowStream } from "./row-stream.js";

/** What the module reads first, from the end of a file. */
const TAIL_BYTES = 512 * 1024;

/** Rows of a file: a range of their numbers, or some numbers and the place of the first one in a result. */
export type FileRows = { start: number; end: number } | { numbers: Uint32Array; firstRow: number };

/** A Parquet file that is open. */
export class ParquetFile {
  readonly #bytes: ByteSource;
  readonly #module: ParquetModule;
  readonly numRows: number;
  readonly columnCosts: readonly ColumnCost[];

  private constructor(bytes: ByteSource, module: ParquetModule) {
    this.#bytes = bytes;
    this.#module = module;
    this.numRows = module.numRows;
    this.columnCosts = module.columnCosts;
  }

  /** Reads the footer of a file. Rejects with what is wrong with the file or its host. */
  static async open(
    file: FileSource,
    compiled: Promise<WebAssembly.Module>,
    signal: AbortSignal,
  ): Promise<ParquetFile> {
    // The module is loaded while the host is asked.
    const making = compiled.then((module) => ParquetModule.make(module));
    making.catch(() => undefined);
    const bytes = await openBytes(file, signal);
    const tailStart = Math.max(0, bytes.size - TAIL_BYTES);
    const tail = bytes.read(tailStart, bytes.size, signal);
    tail.catch(() => undefined);
    const module = await making;
    module.begin(bytes.size);
    for (;;) {
      const needed = module.open();
      if (needed.length === 0) return new ParquetFile(bytes, module);
      const parts = needed.map(async ([start, end]) => {
        const isTail = start === tailStart && end === bytes.size;
        module.putOpening(start, await (isTail ? tail : bytes.read(start, end, signal)));
      });
      await Promise.all(parts);
    }
  }

  /** The least memory that all rows take, in bytes. */
  get leastMemoryBytes(): number {
    return this.columnCosts.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  }

  /** The size of the file, in bytes. */
  get size(): number {
    return this.#bytes.size;
  }

  get warning(): FileWarning | undefined {
    return this.#bytes.warning;
  }

  /** Rows as an Arrow stream, which is made as it is read. `columns` are numbers; none are all columns. */
  rows(
    rows: FileRows,
    signal: AbortSignal,
    columns: readonly number[] = [],
  ): ReadableStream<Uint8Array> {
    const module = this.#module;
    const begin = () =>
      "numbers" in rows
        ? module.readRows(rows.numbers, rows.firstRow, columns)
        : module.read(rows.start, rows.end, columns);
    return new RowStream(new RowSource(this.#bytes, module, begin, signal));
  }
}

/** The bytes of a file. Rejects with what is wrong with its host. */
async function openBytes(file: FileSource, signal: AbortSignal): Promise<ByteSource> {
  return file.kind === "blob"
    ? new BlobBytes(file.blob)
    : RemoteBytes.open(file, TAIL_BYTES, signal);
}
