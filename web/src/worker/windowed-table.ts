import { fetchOf } from "../http/body.js";
import { fetchQueryRecord } from "../http/query-record.js";
import { ColonnadeError } from "../model/errors.js";
import type { Interruption, StreamProgress } from "../model/progress.js";
import type { RawColumn } from "../model/raw-column.js";
import type { QueryRange, UrlSource } from "../model/wire-source.js";
import type { FindParams, KernelWork } from "../rpc/messages.js";
import type { BodyDecoder } from "./body-decoder.js";
import { joinValues, joinWindows } from "./join-windows.js";
import type { Kernels } from "./kernels.js";
import { RowBlockCache } from "./row-block-cache.js";

/** The share of the budget that the first rows keep. */
const HEAD_SHARE = 1 / 4;
/** Large enough that requests are few, small enough that the first cells after a jump arrive soon. */
const BLOCK_BYTES = 2 * 1024 * 1024;
/** The number of blocks that fit the smallest budget. */
const MIN_BLOCKS = 8;

/** A decoded row block. */
interface DecodedBlock {
  decoder: BodyDecoder;
  numBytes: number;
  free(): void;
}

/** Access to the server's result, whose rows a windowed table shows. */
export interface ResultAccess {
  source: UrlSource;
  query: QueryRange;
  /**
   * Reads the rows of a range into a decoder. If the connection is lost, it reconnects and reports
   * the interruption. Rejects with the error if that fails.
   */
  read(
    query: QueryRange,
    decoder: BodyDecoder,
    signal: AbortSignal,
    report: (interruption: Interruption | undefined) => void,
  ): Promise<void>;
  /**
   * Fetches JSON about the result; `path` is appended to its address. A request that is not urgent
   * yields to urgent ones, and is repeated afterwards.
   */
  fetchJson(path: string, isUrgent: boolean, signal: AbortSignal): Promise<string>;
}

/**
 * A table larger than its memory budget: its first rows stay in memory, all others load from the
 * server in row blocks, which are evicted when the budget is full. Has the methods of {@link Kernels},
 * but asynchronous.
 */
export class WindowedTable {
  readonly #head: BodyDecoder;
  readonly #result: ResultAccess;
  readonly #budgetBytes: number;
  readonly #notify: (progress: StreamProgress) => void;
  readonly #abort = new AbortController();
  readonly #interruptions = new Map<number, Interruption>();
  readonly #headRows: number;
  /** Whether the total is only expected, because the server does not know it yet. */
  #isTotalExpected: boolean;
  #progress: StreamProgress;
  #blockRows: number;
  #blocks: RowBlockCache<DecodedBlock>;
  #lastRow = 0;

  /**
   * @param head the rows that were decoded until the budget was full
   * @param progress the progress of the stream
   * @param notify called with new progress
   */
  constructor(
    head: BodyDecoder,
    result: ResultAccess,
    progress: StreamProgress,
    notify: (progress: StreamProgress) => void,
  ) {
    this.#head = head;
    this.#result = result;
    this.#progress = progress;
    this.#notify = notify;
    const { memoryBytes, numRows } = head;
    const { onDemandBytes } = result.query;
    if (onDemandBytes === undefined) {
      head.keepFirst(numRows * HEAD_SHARE);
      // If the batches are few and huge, even one would take too much of the budget.
      if (head.numRows > numRows / 2) head.keepFirst(0);
    }
    this.#headRows = head.numRows;
    const { expectedRows } = result.query;
    this.#isTotalExpected = expectedRows !== undefined && expectedRows >= numRows;
    if (this.#isTotalExpected) {
      this.#progress = { ...progress, rows: expectedRows ?? 0, totalRows: expectedRows };
    }
    this.#budgetBytes = (onDemandBytes ?? memoryBytes) - head.memoryBytes;
    const rowBytes = memoryBytes / numRows;
    const blockBytes = Math.min(BLOCK_BYTES, this.#budgetBytes / MIN_BLOCKS);
    this.#blockRows = roundNumber(blockBytes / rowBytes);
    this.#blocks = this.#makeBlocks();
  }

  /** Progress, with the number of known rows, and the total once it is known. */
  get progress(): StreamProgress {
    const [interruption] = this.#interruptions.values();
    return { ...this.#progress, interruption };
  }

  /** Like {@link Kernels.window}. */
  async window(
    view: number,
    start: number,
    end: number,
    columns: Uint32Array,
    maxChars: number,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const windows = await this.#read(view, start, end, signal, (kernels, from, to) => {
      const packed = kernels.window(0, from, to, columns, maxChars);
      return { packed, numCells: (to - from) * columns.length };
    });
    return joinWindows(windows);
  }

  /** Like {@link Kernels.values}, but without a special form for repeated texts. */
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

  /** Waits until row `end - 1` is known to exist or not to; returns the number of known rows. */
  async reach(end: number, signal: AbortSignal): Promise<number> {
    if (end > this.#progress.rows && this.#progress.totalRows === undefined) {
      await this.#read(0, end - 1, end, signal, () => undefined).catch((thrown) => {
        if (this.#progress.totalRows === undefined) throw thrown;
      });
    }
    return this.#progress.rows;
  }

  /** Summarises and searches on the server. Rejects views, because they would hold all rows. */
  async run(
    work: KernelWork,
    signal: AbortSignal,
    report: (fraction: number) => void,
  ): Promise<string> {
    const either = AbortSignal.any([signal, this.#abort.signal]);
    const { query } = this.#result;
    if (work.kind === "find" && work.view === 0) return this.#find(work.find, either, report);
    const isWhole = !query.isKept || (query.firstRow === 0 && query.limit === undefined);
    if (work.kind === "summary" && work.view === 0 && isWhole) {
      const { column, top } = work;
      const parameters = { column, ...(top === undefined ? {} : { top: String(top) }) };
      const path = `/summary?${new URLSearchParams(parameters)}`;
      return this.#result.fetchJson(path, false, either);
    }
    throw tooLarge();
  }

  /** Rows of a table have their places. */
  async reachPlaces(): Promise<void> {}

  async finishSort(): Promise<never> {
    throw tooLarge();
  }

  /** Sorts ended when the table became windowed. */
  cancelSort(): void {}

  rowNumbers(): never {
    throw tooLarge();
  }

  stream(): never {
    throw tooLarge();
  }

  /** Views ended when the table became windowed. */
  release(): void {}

  /** Fetches the number of rows that the server knows. */
  async fetchTotal(): Promise<void> {
    const { source, query } = this.#result;
    const record = await fetchQueryRecord(source, query, this.#abort.signal, fetchOf(source)).catch(
      () => undefined,
    );
    const ready = (record?.rows_ready ?? 0) - query.firstRow;
    const rows = record?.rows ?? undefined;
    this.#learn(ready, rows === undefined ? undefined : rows - query.firstRow);
  }

  /** Aborts all requests. */
  close(): void {
    this.#abort.abort();
    this.#blocks.close();
  }

  get #isTotalKnown(): boolean {
    return this.#progress.totalRows !== undefined && !this.#isTotalExpected;
  }

  /** Takes that rows `[0, numRows)` exist, and the total if it is known. */
  #learn(numRows: number, totalRows?: number): void {
    if (this.#isTotalKnown) return;
    const { limit = Number.POSITIVE_INFINITY } = this.#result.query;
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

  /** The results of `work` on rows `[start, end)`, one for each block. */
  async #read<T>(
    view: number,
    start: number,
    end: number,
    signal: AbortSignal,
    work: (kernels: Kernels, from: number, to: number) => T,
  ): Promise<T[]> {
    if (view !== 0) throw tooLarge();
    const results: T[] = [];
    let row = start;
    if (row < this.#headRows || row === end) {
      const to = Math.min(end, this.#headRows);
      results.push(work(this.#head.kernels, Math.min(row, to), to));
      row = Math.max(row, to);
    }
    while (row < end) {
      const blockRows = this.#blockRows;
      const index = Math.floor(row / blockRows);
      const first = index * blockRows;
      const to = Math.min(end, first + blockRows);
      try {
        const use = ({ decoder }: DecodedBlock) => work(decoder.kernels, row - first, to - first);
        const result = this.#blocks.use(index, signal, use);
        this.#prefetchNext(row, index);
        results.push(await result);
        row = to;
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        // Another read has made the blocks smaller.
        if (blockRows !== this.#blockRows) continue;
        const { code } = ColonnadeError.from(thrown, "");
        if (code !== "memory_budget_exceeded" || blockRows === 1) throw thrown;
        this.#makeBlocksSmaller();
      }
    }
    return results;
  }

  /** Prefetches the next block in the direction of scrolling; after a jump, none. */
  #prefetchNext(row: number, index: number): void {
    const movedRows = row - this.#lastRow;
    this.#lastRow = row;
    if (movedRows === 0 || Math.abs(movedRows) > this.#blockRows) return;
    const next = index + Math.sign(movedRows);
    const start = next * this.#blockRows;
    const exists = start + this.#blockRows > this.#headRows && start < this.#progress.rows;
    if (exists) this.#blocks.prefetch(next);
  }

  #makeBlocks(): RowBlockCache<DecodedBlock> {
    const expectedBytes = Math.min(BLOCK_BYTES, this.#budgetBytes / MIN_BLOCKS);
    return new RowBlockCache(
      (index, signal) => this.#fetch(index, signal),
      this.#budgetBytes,
      expectedBytes,
    );
  }

  /** Halves the blocks, because these rows take more bytes than the first ones. */
  #makeBlocksSmaller(): void {
    this.#blockRows = roundNumber(this.#blockRows / 2);
    const old = this.#blocks;
    this.#blocks = this.#makeBlocks();
    old.close();
  }

  async #fetch(index: number, signal: AbortSignal): Promise<DecodedBlock> {
    const { query } = this.#result;
    const blockRows = this.#blockRows;
    const start = index * blockRows;
    const { totalRows, limit = Number.POSITIVE_INFINITY } = { ...query, ...this.#progress };
    const numRows = Math.min(blockRows, (totalRows ?? limit) - start);
    const firstRow = query.firstRow + start;
    const range = { ...query, firstRow, limit: numRows, whole: query };
    const decoder = this.#head.block(firstRow, this.#budgetBytes / 2);
    try {
      const either = AbortSignal.any([signal, this.#abort.signal]);
      await this.#result.read(range, decoder, either, (interruption) => {
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
      await this.fetchTotal();
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
    report: (fraction: number) => void,
  ): Promise<string> {
    const { query } = this.#result;
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
      const answer = JSON.parse(
        await this.#result.fetchJson(`/find?${parameters}`, true, signal),
      ) as {
        matches: typeof matches;
        next: number | null;
        searched: number;
      };
      for (const match of answer.matches) {
        if (match.row < endRow) matches.push({ ...match, row: match.row - query.firstRow });
      }
      next = answer.next;
      searched += answer.searched;
      report(Math.min(1, (from + searched) / Math.max(1, rows)));
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
  return new ColonnadeError("windowed", "The table is larger than its memory budget.", {
    hint: "Let the server sort and filter, or pass open() more memoryBytes.",
  });
}
