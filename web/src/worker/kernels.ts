import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { RawColumn, RawRepeats, RawValues } from "../model/raw-column.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { FindParams, KernelWork, SortWork, SummaryWork, ViewInfo } from "../rpc/messages.js";
import { type JobControl, RunningSort } from "./running-sort.js";
import type { WasmJob, WasmKernels, WasmView } from "./wasm-kernels.js";

/** How long the worker computes before it yields to its event loop. */
const SLICE_MS = 4;

/** Minimum time between two progress reports of a job. */
const PROGRESS_INTERVAL_MS = 50;

/** A sort resolves when it has placed so many rows: a screen of them. */
const FIRST_ROWS = 200;

/** Each summary may keep some megabytes of counted values besides the rows. */
const MAX_SUMMARIES = 32;

/** Calls the decoder so that a trap is recorded; see `BodyDecoder`. */
type Use = <T>(work: (decoder: WasmKernels) => T) => T;

/** The views of a table by number, and the jobs that make them. View 0 is the table in its own order. */
export class Kernels {
  readonly #use: Use;
  readonly #views = new Map<number, WasmView>();
  /** The sorts of views whose rows do not have their places yet, or never will. */
  readonly #sorts = new Map<number, RunningSort>();
  /** Finished summaries of the table, to be continued with rows that arrive; the latest is last. */
  readonly #summaries = new Map<string, WasmJob>();
  /** Running jobs, which hold their rows. */
  readonly #running = new Set<{ free(): void }>();
  /** The ends of running jobs that somebody waits for. */
  readonly #urgent = new Set<Promise<unknown>>();
  #nextView = 1;

  constructor(use: Use) {
    this.#use = use;
  }

  /** Runs a job in slices, between which the worker answers messages. A sort goes on after its first rows. */
  async run(
    work: KernelWork,
    signal: AbortSignal,
    report: (fraction: number) => void,
  ): Promise<ViewInfo | string> {
    const base = this.#sorts.get(work.view);
    if (base !== undefined) {
      if (work.kind === "find" && this.#running.has(base.job)) {
        const found = await this.#findPlaced(base, work.find, signal);
        if (found !== undefined) return found;
      }
      await base.done;
      if (signal.aborted) throw cancelledError("request");
    }
    if (work.kind === "summary") return this.#summarise(work, signal, report);
    if (work.kind === "sort") return this.#sort(work, signal, report);
    const job = this.#with(work.view, (decoder, rows) =>
      work.kind === "filter"
        ? decoder.filter(rows, work.predicate)
        : beginFind(decoder, rows, work.find),
    );
    return this.#finish(job, { signal, report }, () => {
      const result = this.#use((decoder) => decoder.finishJob(job));
      if (typeof result === "string") return result;
      const view = this.#nextView++;
      this.#views.set(view, result);
      return { view, numRows: result.numRows(), isDone: true };
    });
  }

  /** Waits until a view's first `end` rows have their places. Rejects if they never will. */
  async reachPlaces(view: number, end: number, signal: AbortSignal): Promise<void> {
    await this.#sorts.get(view)?.reach(end, signal);
  }

  /** Waits until all rows of a view have their places. */
  async finishSort(view: number, report: (fraction: number) => void): Promise<void> {
    const sort = this.#sorts.get(view);
    if (sort === undefined) return;
    sort.report = report;
    await sort.done;
  }

  /** Stops the sort of a view; requests for its rows reject. */
  cancelSort(view: number): void {
    this.#sorts.get(view)?.cancel();
  }

  async #sort(
    { view: base, keys }: SortWork,
    signal: AbortSignal,
    report: (fraction: number) => void,
  ): Promise<ViewInfo> {
    const columns = keys.map(({ column }) => column);
    const descending = Uint8Array.from(keys, (key) => (key.descending ? 1 : 0));
    const { job, numRows } = this.#with(base, (decoder, rows) => ({
      job: decoder.sort(rows, columns, descending),
      numRows: rows.numRows(),
    }));
    const view = this.#nextView++;
    const sort = new RunningSort(job, numRows, report);
    sort.done = this.#finish(job, sort, () => {
      const rows = this.#use((decoder) => decoder.finishJob(job)) as WasmView;
      this.#views.set(view, rows);
      this.#sorts.delete(view);
    });
    this.#sorts.set(view, sort);
    const cancel = () => sort.cancel();
    signal.addEventListener("abort", cancel);
    try {
      await sort.reach(Math.min(FIRST_ROWS, numRows), signal);
    } catch (thrown) {
      this.release(view);
      throw thrown;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
    return { view, numRows, isDone: !this.#sorts.has(view) };
  }

  /** Searches the rows that have their places; undefined if the answer depends on the others. */
  async #findPlaced(
    { job }: RunningSort,
    find: FindParams,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const rows = this.#use(() => job.placed(0, job.numPlaced()));
    const search = this.#use((decoder) => beginFind(decoder, rows, find));
    rows.free();
    const found = await this.#finish(
      search,
      { signal, report: () => undefined },
      () => this.#use((decoder) => decoder.finishJob(search)) as string,
    );
    return JSON.parse(found).next === null ? undefined : found;
  }

  async #summarise(
    { column, maxCounted, view, top, isBackground }: SummaryWork,
    signal: AbortSignal,
    report: (fraction: number) => void,
  ): Promise<string> {
    const control = { signal, report, isBackground };
    if (top !== undefined) {
      const job = this.#with(view, (decoder, rows) =>
        decoder.summaryOfRows(rows, column, maxCounted, top),
      );
      return this.#finishSummary(job, control);
    }
    const key = `${maxCounted} ${column}`;
    const kept = this.#summaries.get(key);
    // While it runs, another summary of the same column starts from the first row.
    this.#summaries.delete(key);
    const job = kept ?? this.#use((decoder) => decoder.summary(column, maxCounted));
    if (kept !== undefined) this.#use((decoder) => decoder.resumeSummary(kept));
    const { text, within } = await this.#finish(job, control, () => {
      this.#keep(key, job);
      const begin = (decoder: WasmKernels, rows: WasmView) => decoder.summaryWithin(job, rows);
      // Before `summaryText`, which drops the counts if there are very many values.
      const within = view === 0 ? undefined : this.#with(view, begin);
      return { text: this.#use((decoder) => decoder.summaryText(job)), within };
    });
    return within === undefined ? text : this.#finishSummary(within, control);
  }

  /** Finishes a summary that does not go on with rows that arrive. */
  #finishSummary(job: WasmJob, control: JobControl): Promise<string> {
    return this.#finish(job, control, () => {
      const summary = this.#use((decoder) => decoder.summaryText(job));
      job.free();
      return summary;
    });
  }

  #keep(key: string, job: WasmJob): void {
    this.#summaries.get(key)?.free();
    this.#summaries.delete(key);
    this.#summaries.set(key, job);
    const [oldest] = this.#summaries;
    if (this.#summaries.size <= MAX_SUMMARIES || oldest === undefined) return;
    oldest[1].free();
    this.#summaries.delete(oldest[0]);
  }

  /**
   * Steps a job to its end and returns the result of `end`; a job that fails or is cancelled is
   * freed.
   */
  async #finish<T>(job: WasmJob, control: JobControl, end: () => T): Promise<T> {
    const finished = this.#stepToEnd(job, control, end);
    if (control.isBackground) return finished;
    this.#urgent.add(finished);
    try {
      return await finished;
    } finally {
      this.#urgent.delete(finished);
    }
  }

  async #stepToEnd<T>(job: WasmJob, control: JobControl, end: () => T): Promise<T> {
    let reportedMs = performance.now();
    this.#running.add(job);
    try {
      for (;;) {
        const sliceMs = performance.now() + SLICE_MS;
        let isDone = false;
        let isAwaited = false;
        while (!isDone && !isAwaited && performance.now() < sliceMs) {
          isDone = this.#use((decoder) => decoder.step(job));
          isAwaited = control.onStep?.() === true;
        }
        if (isDone) {
          this.#running.delete(job);
          return end();
        }
        if (performance.now() - reportedMs > PROGRESS_INTERVAL_MS) {
          control.report(job.fraction());
          reportedMs = performance.now();
        }
        // A request that has arrived meanwhile yields once itself before it is answered.
        await yieldToEventLoop();
        await yieldToEventLoop();
        while (control.isBackground && this.#urgent.size > 0)
          await Promise.allSettled(this.#urgent);
        if (control.signal.aborted || !this.#running.has(job)) throw cancelledError();
      }
    } catch (thrown) {
      const isCrash = thrown instanceof ColonnadeError && thrown.code === "decoder_crashed";
      if (this.#running.delete(job) && !isCrash) job.free();
      throw thrown;
    }
  }

  window(
    view: number,
    start: number,
    end: number,
    columns: Uint32Array,
    maxChars: number,
  ): Uint8Array<ArrayBuffer> {
    return this.#within(view, start, end, (decoder, rows, first, last) =>
      decoder.window(rows, first, last, columns, maxChars),
    ) as Uint8Array<ArrayBuffer>;
  }

  values(view: number, column: number, start: number, end: number): RawColumn {
    const known = this.numbers(view, column, start, end) ?? this.#repeats(view, column, start, end);
    if (known !== null) return known;
    return { kind: "texts", texts: this.window(view, start, end, Uint32Array.of(column), 0) };
  }

  #repeats(view: number, column: number, start: number, end: number): RawRepeats | null {
    return this.#within(view, start, end, (decoder, rows, first, last) => {
      const repeats = decoder.repeats(rows, column, first, last);
      if (repeats === undefined) return null;
      const [codes, numTexts, texts] = [repeats.codes(), repeats.numTexts(), repeats.texts()];
      repeats.free();
      return { kind: "repeats", codes, numTexts, texts } as RawRepeats;
    });
  }

  /** The values as numbers; null if they are not numeric. */
  numbers(view: number, column: number, start: number, end: number): RawValues | null {
    return this.#within(view, start, end, (decoder, rows, first, last) => {
      const values = decoder.values(rows, column, first, last);
      if (values === undefined) return null;
      const raw = { kind: values.kind, bytes: values.bytes(), validity: values.validity() };
      values.free();
      return raw as RawValues;
    });
  }

  rowNumbers(view: number, start: number, end: number): Uint32Array<ArrayBuffer> {
    return this.#within(view, start, end, (_, rows, first, last) =>
      rows.rowNumbers(first, last),
    ) as Uint32Array<ArrayBuffer>;
  }

  /** The table as an Arrow IPC stream, in pieces. */
  async stream(signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>[]> {
    const pieces = this.#use((decoder) => decoder.toStream());
    const stream: Uint8Array<ArrayBuffer>[] = [];
    this.#running.add(pieces);
    for (;;) {
      const piece = this.#use(() => pieces.next()) as Uint8Array<ArrayBuffer> | undefined;
      if (piece === undefined || signal.aborted) break;
      stream.push(piece);
      await yieldToEventLoop();
      if (!this.#running.has(pieces)) throw cancelledError();
    }
    this.#running.delete(pieces);
    pieces.free();
    return stream;
  }

  /** Frees a view, and cancels its sort. */
  release(view: number): void {
    this.#sorts.get(view)?.cancel();
    this.#sorts.delete(view);
    this.#views.get(view)?.free();
    this.#views.delete(view);
  }

  /** Frees all views, summaries and jobs, because their rows are freed. */
  releaseAll(): void {
    for (const job of this.#running) job.free();
    this.#running.clear();
    this.#sorts.clear();
    for (const view of this.#views.keys()) this.release(view);
    for (const job of this.#summaries.values()) job.free();
    this.#summaries.clear();
  }

  /** Reads rows `[start, end)` of a view, which have their places; `work` gets their positions in `rows`. */
  #within<T>(
    view: number,
    start: number,
    end: number,
    work: (decoder: WasmKernels, rows: WasmView, start: number, end: number) => T,
  ): T {
    const job = this.#sorts.get(view)?.job;
    if (job === undefined || !this.#running.has(job)) {
      return this.#with(view, (decoder, rows) => work(decoder, rows, start, end));
    }
    return this.#use((decoder) => {
      const rows = job.placed(start, end);
      const result = work(decoder, rows, 0, end - start);
      rows.free();
      return result;
    });
  }

  #with<T>(view: number, work: (decoder: WasmKernels, rows: WasmView) => T): T {
    return this.#use((decoder) => {
      if (view === 0) {
        const all = decoder.allRows();
        const result = work(decoder, all);
        all.free();
        return result;
      }
      const rows = this.#views.get(view);
      if (rows === undefined) throw new ColonnadeError("closed", "The view was closed.");
      return work(decoder, rows);
    });
  }
}

function beginFind(
  decoder: WasmKernels,
  rows: WasmView,
  { text, from, limit, columns, matchCase }: FindParams,
): WasmJob {
  return decoder.find(rows, text, from, limit, columns, matchCase);
}
