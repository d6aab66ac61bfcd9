import type { SortKey } from "../model/arrangement.js";
import { ColonnadeError } from "../model/errors.js";
import { isPredicate, type Predicate } from "../model/predicate.js";
import { distinctFields } from "../model/schema.js";
import type { FindParams, KernelWork, ViewInfo, WasmModule } from "../rpc/messages.js";
import type { BodyDecoder } from "../worker/body-decoder.js";
import { loadDecoder } from "../worker/decoder-module.js";
import { feedDecoder } from "../worker/feed-decoder.js";
import type { ParquetFile } from "./parquet-file.js";
import { Result } from "./result.js";

/** The bytes of the file that a filter or a search decodes at once: few at first, because a search may end soon. */
const FIRST_CHUNK_BYTES = 1024 * 1024;
const CHUNK_BYTES = 16 * 1024 * 1024;
const MAX_CHUNK_ROWS = 1 << 20;
/** A search answers after so long, even if it has not found all that was asked for. */
const FIND_MS = 2000;
/** The most memory that sorted rows take, in bytes: those of the reader are read again for every screen otherwise. */
const SORTED_BYTES = 96 * 1024 * 1024;
/** The rows that tell how much memory others take. */
const SAMPLE_ROWS = 1000;
/** With more distinct texts than this, a summary has no `top`; a list of values has them all, and is made seldom. */
const MAX_COUNTED = 1 << 16;
const MAX_LISTED = 1 << 20;

/** The decoder's module or its address, once it is known. */
export type DecoderModule = Promise<WasmModule | string | undefined>;

const NEVER = new AbortController().signal;

/** Filters, sorts, summarises and searches rows of a file by the decoder's kernels, over the columns that this needs. */
export class Computations {
  readonly #file: ParquetFile;
  readonly #budgetBytes: number;
  readonly #wasm: WasmModule | string | undefined;
  /** The names of the columns. */
  #names: readonly string[] = [];

  private constructor(
    file: ParquetFile,
    budgetBytes: number,
    wasm: WasmModule | string | undefined,
  ) {
    this.#file = file;
    this.#budgetBytes = budgetBytes;
    this.#wasm = wasm;
  }

  /** @param budgetBytes the most memory that columns may take */
  static async of(file: ParquetFile, budgetBytes: number, wasm: DecoderModule) {
    const computations = new Computations(file, budgetBytes, await wasm);
    const decoder = await computations.#decode(new Result(0), [], 0, 0, NEVER);
    const { fields } = decoder.schema ?? { fields: [] };
    computations.#names = distinctFields(fields).map(({ name }) => name);
    decoder.free();
    return computations;
  }

  /** The rows of a result that pass a predicate, in their order. */
  async filter(base: Result, predicate: string, signal: AbortSignal): Promise<Result> {
    const columns = this.#numbersOf(columnsOf(parsedPredicate(predicate), this.#names));
    const parts: Uint32Array[] = [];
    let numFound = 0;
    await this.#scan(base, columns, 0, signal, async (decoder, start) => {
      const work: KernelWork = { kind: "filter", view: 0, predicate };
      const { view, numRows } = (await run(decoder, work, signal)) as ViewInfo;
      parts.push(decoder.kernels.rowNumbers(view, 0, numRows).map((row) => start + row));
      numFound += numRows;
      this.#check(4 * numFound, "The numbers of the rows that pass the filter");
      return true;
    });
    const numbers = new Uint32Array(numFound);
    let at = 0;
    for (const part of parts) {
      numbers.set(part, at);
      at += part.length;
    }
    return base.choose(numbers);
  }

  /** The rows of a result, sorted. Rejects if there are too many to be read again for every screen. */
  async sort(base: Result, keys: SortKey[], signal: AbortSignal): Promise<Result> {
    if (base.numRows * (await this.#rowMemoryBytes(base, signal)) > SORTED_BYTES) {
      throw new ColonnadeError(
        "not_loaded",
        `Sorting ${base.numRows} rows needs all rows of the file, and only some are loaded.`,
        { hint: "Press Load all first, or filter the rows." },
      );
    }
    const columns = this.#numbersOf(keys.map(({ column }) => column));
    return this.#whole(base, columns, "Sorting", signal, async (decoder) => {
      const work: KernelWork = { kind: "sort", view: 0, keys };
      const { view } = (await run(decoder, work, signal)) as ViewInfo;
      await decoder.kernels.finishSort(view, () => undefined);
      return base.choose(decoder.kernels.rowNumbers(view, 0, base.numRows));
    });
  }

  /** The summary of a column of a result, with this many of its most frequent values, as JSON. */
  summarise(
    base: Result,
    column: string,
    top: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const columns = this.#numbersOf([column]);
    return this.#whole(base, columns, `Summarising ${column}`, signal, async (decoder) => {
      const counted =
        top === undefined
          ? { maxCounted: MAX_COUNTED }
          : { maxCounted: MAX_LISTED, top: Number(top) };
      const work: KernelWork = { kind: "summary", view: 0, column, ...counted };
      return (await run(decoder, work, signal)) as string;
    });
  }

  /** The next rows of a result that contain a text, as JSON. */
  async find(base: Result, find: FindParams, signal: AbortSignal): Promise<string> {
    const columns = this.#numbersOf(find.columns ?? []);
    const endMs = performance.now() + FIND_MS;
    const matches: { row: number; columns: string[] }[] = [];
    let next: number | null = find.from;
    await this.#scan(base, columns, find.from, signal, async (decoder, start) => {
      const limit = find.limit - matches.length;
      const work: KernelWork = { kind: "find", view: 0, find: { ...find, from: 0, limit } };
      const found = JSON.parse((await run(decoder, work, signal)) as string);
      for (const match of found.matches) matches.push({ ...match, row: start + match.row });
      next = start + (found.next ?? decoder.numRows);
      return matches.length < find.limit && performance.now() < endMs;
    });
    const searched = next - find.from;
    return JSON.stringify({ matches, next: next < base.numRows ? next : null, searched });
  }

  /** The memory of a row of a result, in bytes: as its first rows have it, or what its values take at least. */
  async #rowMemoryBytes(base: Result, signal: AbortSignal): Promise<number> {
    const { numRows, leastMemoryBytes } = this.#file;
    const least = leastMemoryBytes / Math.max(1, numRows);
    if (base.numRows * least > SORTED_BYTES) return least;
    const end = Math.min(SAMPLE_ROWS, base.numRows);
    const sample = await this.#decode(base, [], 0, end, signal);
    const sampled = sample.memoryBytes / Math.max(1, end);
    sample.free();
    return Math.max(least, sampled);
  }

  #numbersOf(names: Iterable<string>): number[] {
    const numbers = new Set<number>();
    for (const name of names) {
      const number = this.#names.indexOf(name);
      if (number < 0) {
        throw new ColonnadeError(
          "unknown_column",
          `The file has no column ${JSON.stringify(name)}.`,
        );
      }
      numbers.add(number);
    }
    return [...numbers].sort((a, b) => a - b);
  }

  /** Refuses what does not fit the budget. */
  #check(numBytes: number, what: string): void {
    const budgetBytes = this.#budgetBytes;
    if (numBytes <= budgetBytes) return;
    const [needed, given] = [numBytes, budgetBytes].map((bytes) => Math.ceil(bytes / 1e6));
    throw new ColonnadeError(
      "memory_budget_exceeded",
      `${what} would take more than ${needed} MB, and ${given} MB are left for it.`,
      { hint: "Give open() more memoryBytes, or let a server read the file." },
    );
  }

  /** Works on all rows of columns at once. */
  async #whole<T>(
    base: Result,
    columns: number[],
    what: string,
    signal: AbortSignal,
    work: (decoder: BodyDecoder) => Promise<T>,
  ): Promise<T> {
    const { columnCosts, numRows } = this.#file;
    const least = columns.reduce((sum, column) => sum + (columnCosts[column]?.memoryBytes ?? 0), 0);
    this.#check((least * base.numRows) / Math.max(1, numRows), what);
    const decoder = await this.#decode(base, columns, 0, base.numRows, signal);
    try {
      return await work(decoder);
    } finally {
      decoder.free();
    }
  }

  /**
   * Works on the rows of columns from `start` on, chunk by chunk, until `work` returns false. The next chunk is fetched
   * meanwhile.
   */
  async #scan(
    base: Result,
    columns: number[],
    start: number,
    signal: AbortSignal,
    work: (decoder: BodyDecoder, start: number) => Promise<boolean>,
  ): Promise<void> {
    const left = new AbortController();
    const either = AbortSignal.any([signal, left.signal]);
    const rowBytes = this.#rowBytes(columns);
    let chunkBytes = FIRST_CHUNK_BYTES;
    let maxRows = MAX_CHUNK_ROWS;
    let end = start;
    const decodeNext = () => {
      const numRows = Math.max(1, Math.min(Math.floor(chunkBytes / rowBytes), maxRows));
      const first = end;
      end = Math.min(first + numRows, base.numRows);
      chunkBytes = Math.min(4 * chunkBytes, CHUNK_BYTES);
      // The next chunk has the other half of the memory.
      const decoding = this.#decode(base, columns, first, end, either, 1 / 2);
      decoding.catch(() => undefined);
      return { first, numRows, decoding };
    };
    let next = decodeNext();
    try {
      // Work on no rows finds what is wrong with it.
      do {
        const { first, numRows, decoding } = next;
        let decoder: BodyDecoder;
        try {
          decoder = await decoding;
        } catch (thrown) {
          const { code } = ColonnadeError.from(thrown, "");
          if (code !== "memory_budget_exceeded" || numRows === 1) throw thrown;
          maxRows = Math.ceil(numRows / 4);
          end = first;
          next = decodeNext();
          continue;
        }
        next = decodeNext();
        try {
          if (!(await work(decoder, first))) return;
        } finally {
          decoder.free();
        }
      } while (next.first < base.numRows);
    } finally {
      left.abort();
      next.decoding.then((decoder) => decoder.free()).catch(() => undefined);
    }
  }

  /** The size of a row of columns: compressed, or a part of that in memory if that is more. */
  #rowBytes(columns: number[]): number {
    const { columnCosts, numRows } = this.#file;
    const read = columns.length > 0 ? columns : [...columnCosts.keys()];
    const sizes = read.map((column) => {
      const { fileBytes = 0, memoryBytes = 0 } = columnCosts[column] ?? {};
      return Math.max(fileBytes, memoryBytes / 8);
    });
    return sizes.reduce((sum, bytes) => sum + bytes, 1) / Math.max(1, numRows);
  }

  /** Rows `[start, end)` of a result, in memory. */
  async #decode(
    base: Result,
    columns: number[],
    start: number,
    end: number,
    signal: AbortSignal,
    share = 1,
  ): Promise<BodyDecoder> {
    const decoder = await loadDecoder(share * this.#budgetBytes, this.#wasm, () => undefined);
    try {
      const stream = this.#file.rows(base.range(start, end), signal, columns);
      decoder.resume(start);
      const body = { stream, end: "marker", isRepeatable: true } as const;
      await feedDecoder(decoder, (piece) => decoder.push(piece), body, signal, undefined);
      signal.throwIfAborted();
      decoder.end("marker");
      return decoder;
    } catch (thrown) {
      decoder.free();
      throw thrown;
    }
  }
}

function run(decoder: BodyDecoder, work: KernelWork, signal: AbortSignal) {
  return decoder.kernels.run(work, signal, () => undefined);
}

function parsedPredicate(json: string): Predicate {
  try {
    const predicate: unknown = JSON.parse(json);
    if (isPredicate(predicate)) return predicate as Predicate;
  } catch {
    // What is no JSON is no predicate.
  }
  throw new ColonnadeError("bad_filter", `Not a filter: ${json.slice(0, 200)}`);
}

/** The columns that a predicate needs, of all of them. */
function columnsOf(predicate: Predicate, all: readonly string[]): readonly string[] {
  if ("and" in predicate) return predicate.and.flatMap((each) => columnsOf(each, all));
  if ("or" in predicate) return predicate.or.flatMap((each) => columnsOf(each, all));
  if ("not" in predicate) return columnsOf(predicate.not, all);
  return predicate.op === "matches" ? (predicate.columns ?? all) : [predicate.column];
}
