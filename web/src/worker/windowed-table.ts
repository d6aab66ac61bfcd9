import { fetchOf } from "../http/body.js";
import { askRecord } from "../http/query-record.js";
import { ColonnadeError } from "../model/errors.js";
import type { Interruption, StreamProgress } from "../model/progress.js";
import type { RawColumn } from "../model/raw-column.js";
import type { QueryRange, UrlSource } from "../model/wire-source.js";
import type { FindParams, KernelWork } from "../rpc/messages.js";
import type { BodyDecoder } from "./body-decoder.js";
import { joinValues, joinWindows } from "./join.js";
import type { Kernels } from "./kernels.js";
import { BlockCache } from "./row-block-cache.js";

/** The part of the budget that the first rows keep. */
const HEAD_SHARE = 1 / 4;
/** Few requests at a steady pace, and the first cells after a jump soon. */
const BLOCK_BYTES = 2 * 1024 * 1024;
/** Even in the smallest budget, so many blocks fit. */
const MIN_BLOCKS = 8;

/** Rows of a block in memory. */
interface RowBlock {
  decoder: BodyDecoder;
  numBytes: number;
  free(): void;
}

/** Where the rows of a windowed table come from. */
export interface Origin {
  source: UrlSource;
  query: QueryRange;
  /**
   * Reads the rows of a range into a decoder. Where the connection breaks it goes on, and says so;
   * rejects with why there is no hope.
   */
  read(
    query: QueryRange,
    decoder: BodyDecoder,
    signal: AbortSignal,
    tell: (interruption: Interruption | undefined) => void,
  ): Promise<void>;
  /**
   * Asks the server something about the result; `path` goes behind its address. What is not urgent
   * makes room for what is, and is asked again.
   */
  ask(path: string, isUrgent: boolean, signal: AbortSignal): Promise<string>;
}

/**
 * A table larger than its memory budget: its first rows stay, all others come by row number from
 * the server in blocks, and go when the budget is full. Reads as {@link Kernels} do, but later.
 */
export class WindowedRows {
  readonly #head: BodyDecoder;
  readonly #origin: Origin;
  readonly #budgetBytes: number;
  readonly #notify: (progress: StreamProgress) => void;
  readonly #abort = new AbortController();
  readonly #interruptions = new Map<number, Interruption>();
  readonly #headRows: number;
  /** Whether the total is what should be, until the server knows it. */
  #isTotalExpected: boolean;
  #progress: StreamProgress;
  #blockRows: number;
  #blocks: BlockCache<RowBlock>;
  #lastRow = 0;

  /**
   * @param head what was decoded until the budget was full
   * @param progress how far the stream was
   * @param notify told when more is known
   */
  constructor(
    head: BodyDecoder,
    origin: Origin,
    progress: StreamProgress,
    notify: (progress: StreamProgress) => void,
  ) {
    this.#head = head;
    this.#origin = origin;
    this.#progress = progress;
    this.#notify = notify;
    const { memoryBytes, numRows } = head;
    head.keepFirst(numRows * HEAD_SHARE);
    // A table of few huge batches would keep too much of them.
    if (head.numRows > numRows / 2) head.keepFirst(0);
    this.#headRows = head.numRows;
    const { expectedRows } = origin.query;
    this.#isTotalExpected = expectedRows !== undefined && expectedRows >= numRows;
    if (this.#isTotalExpected) {
      this.#progress = { ...progress, rows: expectedRows ?? 0, totalRows: expectedRows };
    }
    this.#budgetBytes = memoryBytes - head.memoryBytes;
    const rowBytes = memoryBytes / numRows;
    const blockBytes = Math.min(BLOCK_BYTES, this.#budgetBytes / MIN_BLOCKS);
    this.#blockRows = roundNumber(blockBytes / rowBytes);
    this.#blocks = this.#makeBlocks();
  }

  /** Rows that are known to be there, and the total once it is known. */
  get progress(): StreamProgress {
    const [interruption] = this.#interruptions.values();
    return { ...this.#progress, interruption };
  }

  /** As {@link Kernels.window}. */
  async window(
    view: number,
    start: number,
    end: number,
    columns: Uint32Array,
    maxChars: number,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const parts = await this.#read(view, start, end, signal, (kernels, from, to) => {
      const packed = kernels.window(0, from, to, columns, maxChars);
      return { packed, numCells: (to - from) * columns.length };
    });
    return joinWindows(parts);
  }

  /** As {@link Kernels.values}; repeated texts are as others. */
  async values(
    view: number,
    column: number,
    start: number,
    end: number,
    signal: AbortSignal,
  ): Promise<RawColumn> {
    const read = (kernels: Kernels, from: number, to: number) =>
      kernels.numbers(0, column, from, to);
    const numbers = joinValues(await this.#read(view, start, end, signal, read));
    if (numbers !== null) return numbers;
    const columns = Uint32Array.of(column);
    return { kind: "texts", texts: await this.window(view, start, end, columns, 0, signal) };
  }

  /** Waits until row `end - 1` is there, or is known not to be; returns the rows there are. */
  async reach(end: number, signal: AbortSignal): Promise<number> {
    if (end > this.#progress.rows && this.#progress.totalRows === undefined) {
      await this.#read(0, end - 1, end, signal, () => undefined).catch((thrown) => {
        if (this.#progress.totalRows === undefined) throw thrown;
      });
    }
    return this.#progress.rows;
  }

  /** Summary and find are the server's work; a view would have to hold all rows. */
  async run(
    work: KernelWork,
    signal: AbortSignal,
    tell: (fraction: number) => void,
  ): Promise<string> {
    const either = AbortSignal.any([signal, this.#abort.signal]);
    const { query } = this.#origin;
    if (work.kind === "find" && work.view === 0) return this.#find(work.find, either, tell);
    const isWhole = !query.isKept || (query.firstRow === 0 && query.limit === undefined);
    if (work.kind === "summary" && work.view === 0 && isWhole) {
      const path = `/summary?${new URLSearchParams({ column: work.column })}`;
      return this.#origin.ask(path, false, either);
    }
    throw tooLarge();
  }

  rowNumbers(): never {
    throw tooLarge();
  }

  stream(): never {
    throw tooLarge();
  }

  /** Views ended when the table became windowed. */
  release(): void {}

  /** Asks the server how many rows there are, as far as it knows. */
  async askTotal(): Promise<void> {
    const { source, query } = this.#origin;
    const record = await askRecord(source, query, this.#abort.signal, fetchOf(source)).catch(
      () => undefined,
    );
    const ready = (record?.rows_ready ?? 0) - query.firstRow;
    const rows = record?.rows ?? undefined;
    this.#learn(ready, rows === undefined ? undefined : rows - query.firstRow);
  }

  /** Ends everything that is on its way. */
  close(): void {
    this.#abort.abort();
    this.#blocks.close();
  }

  get #isTotalKnown(): boolean {
    return this.#progress.totalRows !== undefined && !this.#isTotalExpected;
  }

  /** Rows `[0, numRows)` are there; `totalRows` of them, where that is known. */
  #learn(numRows: number, totalRows?: number): void {
    if (this.#isTotalKnown) return;
    const { limit = Number.POSITIVE_INFINITY } = this.#origin.query;
    const total = totalRows ?? (numRows >= limit ? limit : undefined);
    if (total !== undefined) {
      this.#isTotalExpected = false;
      const rows = Math.max(this.#headRows, Math.min(total, limit));
      this.#progress = { ...this.#progress, rows, totalRows: rows };
    } else {
      this.#progress = { ...this.#progress, rows: Math.max(this.#progress.rows, numRows) };
    }
    this.#notify(this.progress);
  }

  /** What `work` makes of rows `[start, end)`, block by block: from some row of a block to another. */
  async #read<T>(
    view: number,
    start: number,
    end: number,
    signal: AbortSignal,
    work: (kernels: Kernels, from: number, to: number) => T,
  ): Promise<T[]> {
    if (view !== 0) throw tooLarge();
    const parts: T[] = [];
    let row = start;
    if (row < this.#headRows || row === end) {
      const to = Math.min(end, this.#headRows);
      parts.push(work(this.#head.kernels, Math.min(row, to), to));
      row = Math.max(row, to);
    }
    while (row < end) {
      const blockRows = this.#blockRows;
      const index = Math.floor(row / blockRows);
      const first = index * blockRows;
      const to = Math.min(end, first + blockRows);
      try {
        const use = ({ decoder }: RowBlock) => work(decoder.kernels, row - first, to - first);
        const part = this.#blocks.use(index, signal, use);
        this.#lookAhead(row, index);
        parts.push(await part);
        row = to;
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        // Another reader has found that blocks must be smaller.
        if (blockRows !== this.#blockRows) continue;
        const { code } = ColonnadeError.from(thrown, "");
        if (code !== "memory_budget_exceeded" || blockRows === 1) throw thrown;
        this.#makeBlocksSmaller();
      }
    }
    return parts;
  }

  /** Fetches the next block in the direction of reading; a jump has none. */
  #lookAhead(row: number, index: number): void {
    const movedRows = row - this.#lastRow;
    this.#lastRow = row;
    if (movedRows === 0 || Math.abs(movedRows) > this.#blockRows) return;
    const ahead = index + Math.sign(movedRows);
    const start = ahead * this.#blockRows;
    const isThere = start + this.#blockRows > this.#headRows && start < this.#progress.rows;
    if (isThere) this.#blocks.prefetch(ahead);
  }

  #makeBlocks(): BlockCache<RowBlock> {
    const expectedBytes = Math.min(BLOCK_BYTES, this.#budgetBytes / MIN_BLOCKS);
    return new BlockCache(
      (index, signal) => this.#fetch(index, signal),
      this.#budgetBytes,
      expectedBytes,
    );
  }

  /** The rows that are asked for are heavier than the first ones were. */
  #makeBlocksSmaller(): void {
    this.#blockRows = roundNumber(this.#blockRows / 2);
    const old = this.#blocks;
    this.#blocks = this.#makeBlocks();
    old.close();
  }

  async #fetch(index: number, signal: AbortSignal): Promise<RowBlock> {
    const { query } = this.#origin;
    const blockRows = this.#blockRows;
    const start = index * blockRows;
    const { totalRows, limit = Number.POSITIVE_INFINITY } = { ...query, ...this.#progress };
    const numRows = Math.min(blockRows, (totalRows ?? limit) - start);
    const firstRow = query.firstRow + start;
    const range = { ...query, firstRow, limit: numRows, whole: query };
    const decoder = this.#head.block(firstRow, this.#budgetBytes / 2);
    try {
      const either = AbortSignal.any([signal, this.#abort.signal]);
      await this.#origin.read(range, decoder, either, (interruption) => {
        this.#interrupt(index, interruption);
      });
    } catch (thrown) {
      decoder.free();
      const error = ColonnadeError.from(thrown, "network_error").toJSON();
      throw ColonnadeError.fromPlain({ ...error, row: start, byte: undefined });
    } finally {
      this.#interrupt(index, undefined);
    }
    const { bytes, batches } = this.#progress;
    this.#progress = {
      ...this.#progress,
      bytes: bytes + decoder.numBytes,
      batches: batches + decoder.numBatches,
    };
    const isShort = decoder.numRows < numRows;
    if (!this.#isTotalKnown) {
      const end = start + decoder.numRows;
      if (decoder.numRows > 0) this.#learn(end, isShort ? end : undefined);
      await this.askTotal();
    } else if (isShort) {
      const message = `The server sent ${decoder.numRows} of the ${numRows} rows from ${start} on.`;
      decoder.free();
      throw new ColonnadeError("wrong_total", message, { row: start });
    }
    this.#notify(this.progress);
    return { decoder, numBytes: decoder.memoryBytes, free: () => decoder.free() };
  }

  #interrupt(index: number, interruption: Interruption | undefined): void {
    const before = this.#interruptions.get(index);
    if (interruption === before) return;
    if (interruption === undefined) this.#interruptions.delete(index);
    else this.#interruptions.set(index, interruption);
    this.#notify(this.progress);
  }

  async #find(
    { text, from, limit, columns, matchCase }: FindParams,
    signal: AbortSignal,
    tell: (fraction: number) => void,
  ): Promise<string> {
    const { query } = this.#origin;
    const { rows } = this.#progress;
    const endRow = query.firstRow + (this.#progress.totalRows ?? Number.POSITIVE_INFINITY);
    const matches: { row: number; columns: string[] }[] = [];
    let next: number | null = query.firstRow + from;
    let searched = 0;
    while (next !== null && next < endRow && matches.length < limit) {
      const parameters = new URLSearchParams({ text, from: `${next}` });
      parameters.set("limit", `${Math.min(10_000, limit - matches.length)}`);
      if (matchCase) parameters.set("case", "exact");
      if (columns !== undefined) parameters.set("columns", columns.map(quoted).join(","));
      const answer = JSON.parse(await this.#origin.ask(`/find?${parameters}`, true, signal)) as {
        matches: typeof matches;
        next: number | null;
        searched: number;
      };
      for (const match of answer.matches) {
        if (match.row < endRow) matches.push({ ...match, row: match.row - query.firstRow });
      }
      next = answer.next;
      searched += answer.searched;
      tell(Math.min(1, (from + searched) / Math.max(1, rows)));
    }
    const isAtEnd = next === null || next >= endRow;
    return JSON.stringify({
      matches,
      next: isAtEnd ? null : (next as number) - query.firstRow,
      searched,
    });
  }
}

/** The largest of 1, 2, 5, 10, 20, … that is not above `limit`; 1 at least. */
function roundNumber(limit: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(limit)));
  return power * ([5, 2].find((factor) => factor * power <= limit) ?? 1);
}

/** A name as in SQL, so that it may hold a comma. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function tooLarge(): ColonnadeError {
  return new ColonnadeError(
    "windowed",
    "The table is larger than its memory budget, so not all of its rows can be worked on here.",
    {
      hint: "Open a request with sort and filter for the server, or give open() more memoryBytes.",
    },
  );
}
