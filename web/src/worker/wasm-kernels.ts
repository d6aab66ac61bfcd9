/** The wasm module's `View`. */
export interface WasmView {
  numRows(): number;
  rowNumbers(start: number, end: number): Uint32Array;
  free(): void;
}

/** The wasm module's `Job`. */
export interface WasmJob {
  fraction(): number;
  numPlaced(): number;
  placed(start: number, end: number): WasmView;
  free(): void;
}

/** The wasm module's `Decoder` besides decoding; see `wasm/src/kernels.rs`. */
export interface WasmKernels {
  allRows(): WasmView;
  sort(view: WasmView, columns: string[], descending: Uint8Array): WasmJob;
  filter(view: WasmView, predicate: string): WasmJob;
  summary(column: string, maxCounted: number): WasmJob;
  summaryOfRows(view: WasmView, column: string, maxCounted: number, numTop: number): WasmJob;
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
