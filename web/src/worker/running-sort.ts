import { cancelledError } from "../model/errors.js";
import type { WasmJob } from "./wasm-kernels.js";

/** What runs a job. */
export interface JobControl {
  signal: AbortSignal;
  /** Waits while other jobs run. */
  isBackground?: boolean | undefined;
  /** Called with the fraction that is done, from 0 to 1. */
  report(fraction: number): void;
  /** Called after each step. If it returns true, messages are answered before the next one. */
  onStep?(): boolean;
}

/** A sort whose first rows can be read before its last ones have their places. */
export class RunningSort implements JobControl {
  readonly job: WasmJob;
  readonly numRows: number;
  report: (fraction: number) => void;
  readonly #abort = new AbortController();
  readonly #waits = new Set<{ end: number; resolve: () => void }>();
  #done: Promise<void> = Promise.resolve();

  constructor(job: WasmJob, numRows: number, report: (fraction: number) => void) {
    this.job = job;
    this.numRows = numRows;
    this.report = report;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Settles when all rows have their places, or the sort has failed or was cancelled. */
  get done(): Promise<void> {
    return this.#done;
  }
  set done(done: Promise<void>) {
    this.#done = done;
    // Those who wait for rows are told.
    done.catch(() => undefined);
  }

  cancel(): void {
    this.#abort.abort();
  }

  /** Resolves when the first `end` rows have their places. Rejects if they never will, or on abort. */
  async reach(end: number, signal: AbortSignal): Promise<void> {
    const reached = new Promise<void>((resolve) => this.#waits.add({ end, resolve }));
    await Promise.race([reached, this.#done]);
    if (signal.aborted) throw cancelledError("request");
  }

  onStep(): boolean {
    const numPlaced = this.job.numPlaced();
    const reached = [...this.#waits].filter(({ end }) => end <= numPlaced);
    for (const wait of reached) {
      this.#waits.delete(wait);
      wait.resolve();
    }
    return reached.length > 0;
  }
}
