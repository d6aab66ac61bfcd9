import type { SortKey } from "../model/arrangement.js";
import type { PlainError } from "../model/errors.js";
import type { StreamEnd, StreamProgress } from "../model/progress.js";
import type { RawColumn } from "../model/raw-column.js";
import type { Schema } from "../model/schema.js";
import type { WireSource } from "../model/wire-source.js";

/** A view in the worker. */
export interface ViewInfo {
  view: number;
  numRows: number;
  /** Whether all rows have their places. */
  isDone: boolean;
}

/** A text search. */
export interface FindParams {
  text: string;
  from: number;
  limit: number;
  columns: string[] | undefined;
  matchCase: boolean;
}

/** A column summary: of the table (view 0), of a view with the table's bins, or, with `top`, of a view alone. */
export interface SummaryWork {
  kind: "summary";
  column: string;
  /** With more distinct texts than this, there is no `top`. */
  maxCounted: number;
  view: number;
  /** How many of the most frequent values are wanted. */
  top?: number | undefined;
  /** Waits while other work runs. */
  isBackground?: boolean | undefined;
}

/** A sort of a view. */
export interface SortWork {
  kind: "sort";
  view: number;
  keys: SortKey[];
}

/** Work for kernels; view 0 is the table in its own order. */
export type KernelWork =
  | SortWork
  | { kind: "filter"; view: number; predicate: string }
  | SummaryWork
  | { kind: "find"; view: number; find: FindParams };

/** The decoder's wasm module, compiled or not. */
export type WasmModule = WebAssembly.Module | Uint8Array<ArrayBuffer>;

/**
 * Tells the worker to serve a table through this port, or none, and to release the previous one; or asks it for a
 * sign of life.
 */
export type WorkerOrder = MessagePort | "idle" | "ping";

/** A worker's answer to `idle`: the memory that it still has, in bytes. */
export interface IdleWorker {
  idleBytes: number;
}

/** How many cells a viewer shows first. */
export interface FirstCells {
  numRows: number;
  numColumns: number;
  /** Texts longer than this are cut. */
  maxChars: number;
}

/** The schema of a stream, and the progress when it was read. */
export interface Opened {
  schema: Schema;
  progress: StreamProgress;
  /** The first cells (`RowWindow`), if they are wanted and there are rows. */
  firstCells: Uint8Array<ArrayBuffer> | undefined;
}

/** Requests to the worker. Each gets one answer, or an error. */
export interface Requests {
  open: {
    /** With `firstCells`, the page shows the table. */
    params: {
      source: WireSource;
      memoryBytes: number;
      firstCells: FirstCells | undefined;
    };
    result: Opened;
  };
  /** The decoder's module or its address, if not beside the worker. Rows are read as soon as it is known. */
  module: { params: { wasm: WasmModule | string | undefined }; result: null };
  /** Rows `[start, end)` of the given columns as packed cells (`RowWindow`). */
  window: {
    params: {
      view: number;
      start: number;
      end: number;
      columns: Uint32Array;
      maxChars: number;
    };
    result: Uint8Array<ArrayBuffer>;
  };
  values: {
    params: { view: number; column: number; start: number; end: number };
    result: RawColumn;
  };
  /**
   * Runs work in slices; returns a view or JSON. Progress is reported under the number `job`. A sort returns its view
   * when the first rows can be read; requests for further rows wait.
   */
  run: { params: { job: number; work: KernelWork }; result: ViewInfo | string };
  /** Waits until all rows of a view have their places. */
  finishSort: { params: { job: number; view: number }; result: null };
  /** Stops the sort of a view. */
  cancelSort: { params: { view: number }; result: null };
  rowNumbers: {
    params: { view: number; start: number; end: number };
    result: Uint32Array<ArrayBuffer>;
  };
  release: { params: { view: number }; result: null };
  /** Waits until row `end - 1` is known to exist or not to; returns the number of known rows. */
  reach: { params: { end: number }; result: number };
  /** The rows as an Arrow IPC stream, in pieces. */
  stream: { params: null; result: Uint8Array<ArrayBuffer>[] };
  /** Stops reading; the rows that arrived stay readable. */
  stop: { params: null; result: null };
  /** The first rows are painted: reading continues. */
  painted: { params: null; result: null };
  /** Reconnects now; Chromium does not report to workers that the browser is online again. */
  retryNow: { params: null; result: null };
  /** Continues after a failure that `canResume`. */
  resume: { params: null; result: null };
  /** Continues after a pause or a notice `memory`, with another budget. */
  grow: { params: { memoryBytes: number }; result: null };
  /** A requested connection may be opened, or other requests wait for it. */
  slot: { params: { slot: number; action: "grant" | "yield" }; result: null };
}

/**
 * What a connection is for. A `stream` takes as long as its table; a `block` is a row block of a
 * windowed table; a `question` is a summary or a search of one.
 */
export type SlotPriority = "stream" | "block" | "question";

/** Messages that the worker sends without a request. */
export interface Notices {
  progress: StreamProgress;
  end: StreamProgress & StreamEnd;
  /** The decoder trapped, or a request could not be read: this worker no longer answers. */
  crash: PlainError;
  /** A connection is requested, may yield to other requests, or is closed. */
  slot: {
    slot: number;
    action: "request" | "allowYield" | "release";
    priority?: SlotPriority;
    /** As in `SlotRequest`. */
    hasRows?: boolean;
  };
  /** The rows need more memory than their budget, or need no more than so much. */
  memory: { wantedBytes: number; isAll: boolean };
  /** The fraction of a job that is done, from 0 to 1. */
  job: { job: number; fraction: number };
}

export type RequestName = keyof Requests;
export type NoticeName = keyof Notices;

/** Everything that crosses the worker's port, in both directions. */
export type Message =
  | { type: "request"; id: number; name: RequestName; params: unknown }
  | { type: "cancel"; id: number }
  | { type: "result"; id: number; result: unknown }
  | { type: "error"; id: number; error: PlainError }
  | { type: "notice"; name: NoticeName; data: unknown };
