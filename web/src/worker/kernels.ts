import { ColonnadeError, cancelledError } from "../model/errors.js";
import type { RawColumn, RawRepeats, RawValues } from "../model/raw-column.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { FindParams, KernelWork, SummaryWork, ViewInfo } from "../rpc/messages.js";

/** How long the worker computes before it yields to its event loop. */
const SLICE_MS = 8;

/** Minimum time between two progress reports of a job. */
const PROGRESS_INTERVAL_MS = 50;

/** Each summary may keep some megabytes of counted values besides the rows. */
const MAX_SUMMARIES = 32;

/** The wasm module's `View`. */
export interface WasmView {
  numRows(): number;
  rowNumbers(start: number, end: number): Uint32Array;
  free(): void;
}

/** The wasm module's `Job`. */
export interface WasmJob {
  fraction(): number;
  free(): void;
}

/** The wasm module's `Decoder` besides decoding; see `wasm/src/kernels.rs`. */
export interface WasmKernels {
  allRows(): WasmView;
  sort(view: WasmView, columns: string[], descending: Uint8Array): WasmJob;
  filter(view: WasmView, predicate: string): WasmJob;
  summary(column: string, maxCounted: number): WasmJob;
  resumeSummary(job: WasmJob): void;
  summaryWithin(job: WasmJob, view: WasmView): WasmJob;
  summaryText(job: WasmJob): string;
  find(
    view: WasmView,
    text: string,
    from: number,
    limit: number,
    columns: string[] | undefined,
    matchCase: boolean,
  ): WasmJob;
  step(job: WasmJob): boolean;
  finishJob(job: WasmJob): WasmView | string;
  window(
    view: WasmView,
    start: number,
    end: number,
    columns: Uint32Array,
    maxChars: number,
  ): Uint8Array;
  toStream(): { next(): Uint8Array | undefined; free(): void };
  values(
    view: WasmView,
    column: number,
    start: number,
    end: number,
  ): { kind: string; bytes(): Uint8Array; validity(): Uint8Array; free(): void } | undefined;
  repeats(
    view: WasmView,
    column: number,
    start: number,
    end: number,
  ): { codes(): Uint32Array; numTexts(): number; texts(): Uint8Array; free(): void } | undefined;
}

/** Calls the decoder so that a trap is recorded; see `BodyDecoder`. */
type Use = <T>(work: (decoder: WasmKernels) => T) => T;

/** The views of a table by number, and the jobs that make them. View 0 is the table in its own order. */
export class Kernels {
  readonly #use: Use;
  readonly #views = new Map<number, WasmView>();
  /** Finished summaries of the table, to be continued with rows that arrive; the latest is last. */
  readonly #summaries = new Map<string, WasmJob>();
  /** Running jobs, which hold their rows. */
  readonly #running = new Set<{ free(): void }>();
  #nextView = 1;

  constructor(use: Use) {
    this.#use = use;
  }

  /** Runs a job in slices, between which the worker answers messages. */
  async run(
    work: KernelWork,
    signal: AbortSignal,
    report: (fraction: number) => void,
  ): Promise<ViewInfo | string> {
    if (work.kind === "summary") return this.#summarise(work, signal, report);
    const job = this.#begin(work);
    return this.#finish(job, signal, report, () => {
      const result = this.#use((decoder) => decoder.finishJob(job));
      if (typeof result === "string") return result;
      const view = this.#nextView++;
      this.#views.set(view, result);
      return { view, numRows: result.numRows() };
    });
  }

  async #summarise(
    { column, maxCounted, view }: SummaryWork,
    signal: AbortSignal,
    report: (fraction: number) => void,
  ): Promise<string> {
    const key = `${maxCounted} ${column}`;
    const kept = this.#summaries.get(key);
    // While it runs, another summary of the same column starts from the first row.
    this.#summaries.delete(key);
    const job = kept ?? this.#use((decoder) => decoder.summary(column, maxCounted));
    if (kept !== undefined) this.#use((decoder) => decoder.resumeSummary(kept));
    const { text, within } = await this.#finish(job, signal, report, () => {
      this.#keep(key, job);
      const begin = (decoder: WasmKernels, rows: WasmView) => decoder.summaryWithin(job, rows);
      // Before `summaryText`, which drops the counts if there are very many values.
      const within = view === 0 ? undefined : this.#with(view, begin);
      return { text: this.#use((decoder) => decoder.summaryText(job)), within };
    });
    if (within === undefined) return text;
    return this.#finish(within, signal, report, () => {
      const summary = this.#use((decoder) => decoder.summaryText(within));
      within.free();
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
  async #finish<T>(
    job: WasmJob,
    signal: AbortSignal,
    report: (fraction: number) => void,
    end: () => T,
  ): Promise<T> {
    let reportedMs = performance.now();
    this.#running.add(job);
    try {
      for (;;) {
        const sliceMs = performance.now() + SLICE_MS;
        let isDone = false;
        while (!isDone && performance.now() < sliceMs) {
          isDone = this.#use((decoder) => decoder.step(job));
        }
        if (isDone) {
          this.#running.delete(job);
          return end();
        }
        if (performance.now() - reportedMs > PROGRESS_INTERVAL_MS) {
          report(job.fraction());
          reportedMs = performance.now();
        }
        await yieldToEventLoop();
        if (signal.aborted || !this.#running.has(job)) throw cancelledError();
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
    return this.#with(view, (decoder, rows) =>
      decoder.window(rows, start, end, columns, maxChars),
    ) as Uint8Array<ArrayBuffer>;
  }

  values(view: number, column: number, start: number, end: number): RawColumn {
    const known = this.numbers(view, column, start, end) ?? this.#repeats(view, column, start, end);
    if (known !== null) return known;
    return { kind: "texts", texts: this.window(view, start, end, Uint32Array.of(column), 0) };
  }

  #repeats(view: number, column: number, start: number, end: number): RawRepeats | null {
    return this.#with(view, (decoder, rows) => {
      const repeats = decoder.repeats(rows, column, start, end);
      if (repeats === undefined) return null;
      const [codes, numTexts, texts] = [repeats.codes(), repeats.numTexts(), repeats.texts()];
      repeats.free();
      return { kind: "repeats", codes, numTexts, texts } as RawRepeats;
    });
  }

  /** The values as numbers; null if they are not numeric. */
  numbers(view: number, column: number, start: number, end: number): RawValues | null {
    return this.#with(view, (decoder, rows) => {
      const values = decoder.values(rows, column, start, end);
      if (values === undefined) return null;
      const raw = { kind: values.kind, bytes: values.bytes(), validity: values.validity() };
      values.free();
      return raw as RawValues;
    });
  }

  rowNumbers(view: number, start: number, end: number): Uint32Array<ArrayBuffer> {
    return this.#with(view, (_, rows) => rows.rowNumbers(start, end)) as Uint32Array<ArrayBuffer>;
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

  /** Frees a view. */
  release(view: number): void {
    this.#views.get(view)?.free();
    this.#views.delete(view);
  }

  /** Frees all views, summaries and jobs, because their rows are freed. */
  releaseAll(): void {
    for (const job of this.#running) job.free();
    this.#running.clear();
    for (const view of this.#views.keys()) this.release(view);
    for (const job of this.#summaries.values()) job.free();
    this.#summaries.clear();
  }

  #begin(work: Exclude<KernelWork, SummaryWork>): WasmJob {
    switch (work.kind) {
      case "sort": {
        const columns = work.keys.map(({ column }) => column);
        const descending = Uint8Array.from(work.keys, (key) => (key.descending ? 1 : 0));
        return this.#with(work.view, (decoder, rows) => decoder.sort(rows, columns, descending));
      }
      case "filter":
        return this.#with(work.view, (decoder, rows) => decoder.filter(rows, work.predicate));
      case "find": {
        const { text, from, limit, columns, matchCase }: FindParams = work.find;
        return this.#with(work.view, (decoder, rows) =>
          decoder.find(rows, text, from, limit, columns, matchCase),
        );
      }
    }
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
