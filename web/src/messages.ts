import type { PlainError } from "./errors.js";
import type { Lane } from "./places.js";
import type { Schema } from "./schema.js";

/** A result of a Colonnade server, and which of its rows were asked for. */
export interface QueryRange {
  id: string;
  /** The result was there before and stays when this table is closed. */
  isKept: boolean;
  /** Number in the result of the table's row 0. */
  firstRow: number;
  /** The most rows there may be, where the request says so. */
  limit: number | undefined;
  /** How many there should be: as many as of the same rows in another order. */
  expectedRows?: number | undefined;
  /** What the request itself is for, where these are only some of its rows. */
  whole?: QueryRange;
}

/** A request to make. */
export interface UrlSource {
  kind: "url";
  url: string;
  method: string;
  headers: [string, string][];
  body: ArrayBuffer | null;
  credentials: RequestCredentials;
  /** Where the page's own `fetch` is asked, if it has one (`fetcher.ts`). */
  fetch?: MessagePort;
  /** Set where a Colonnade server can be asked again. */
  query?: QueryRange;
}

/** Where the worker takes its bytes from; see `source.ts` for what a caller may pass. */
export type WireSource =
  | UrlSource
  | { kind: "port"; port: MessagePort; end: EndRule }
  | { kind: "blob"; blob: Blob };

/**
 * What the end of the body means when no end-of-stream marker was seen: a failure (`marker`), or
 * completion with a warning if it falls between two messages (`boundary`).
 */
export type EndRule = "marker" | "boundary";

/** A connection that broke and is being made again. */
export interface Interruption {
  /** The row that comes next, counted from 0. */
  row: number;
  /** Which try this is, from 1. */
  attempt: number;
  /** When the connection broke, in milliseconds as `Date.now()` counts them. */
  since: number;
}

/** How far a stream is. Counters only grow. */
export interface StreamProgress {
  /** Rows that can be read. */
  rows: number;
  /** Rows there will be, where the server has said so. */
  totalRows?: number | undefined;
  batches: number;
  /** Bytes of the stream read so far. */
  bytes: number;
  /** Milliseconds since the stream was asked for. */
  elapsedMs: number;
  /** Milliseconds until the first row was readable; undefined before. */
  firstRowMs: number | undefined;
  /** Set while the connection is lost and the stream tries to go on. */
  interruption: Interruption | undefined;
  /** Set while the stream makes room for others and has no connection; it goes on by itself. */
  isWaiting?: boolean | undefined;
  /** Why nothing is read until somebody decides: the memory budget is full. */
  pause?: PlainError | undefined;
}

/** The last word about a stream. */
export interface StreamEnd {
  state: "complete" | "windowed" | "failed" | "cancelled";
  error?: PlainError;
  warning?: "no_end_of_stream";
  /** After a failure: the stream may go on from where it is. */
  canResume?: boolean;
}

/** What to sort by. */
export interface SortKey {
  column: string;
  /** Largest first; default false. */
  descending?: boolean | undefined;
}

/** A view in the worker. */
export interface ViewInfo {
  view: number;
  numRows: number;
}

/** What to look for. */
export interface FindParams {
  text: string;
  from: number;
  limit: number;
  columns: string[] | undefined;
  matchCase: boolean;
}

/** A column in short: of the table (view 0), or of a view by the table's bins. */
export interface SummaryWork {
  kind: "summary";
  column: string;
  /** Of texts with more different values, none is told. */
  maxCounted: number;
  view: number;
}

/** What kernels do; view 0 is the table as it is. */
export type KernelWork =
  | { kind: "sort"; view: number; keys: SortKey[] }
  | { kind: "filter"; view: number; predicate: string }
  | SummaryWork
  | { kind: "find"; view: number; find: FindParams };

/** Values of a column, little-endian; `bool` is a byte each. */
export interface RawValues {
  kind: "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "f32" | "f64" | "bool";
  bytes: Uint8Array<ArrayBuffer>;
  validity: Uint8Array<ArrayBuffer>;
}

/** Texts of a column that repeat: which of `texts`, a packed window of one column, each row has. */
export interface RawRepeats {
  kind: "repeats";
  codes: Uint32Array<ArrayBuffer>;
  numTexts: number;
  texts: Uint8Array<ArrayBuffer>;
}

/** Texts of a column that seldom repeat, as a packed window of one column. */
export interface RawTexts {
  kind: "texts";
  texts: Uint8Array<ArrayBuffer>;
}

/** Values of a column. */
export type RawColumn = RawValues | RawRepeats | RawTexts;

/** The decoder's wasm module, compiled or not. */
export type WasmModule = WebAssembly.Module | Uint8Array<ArrayBuffer>;

/** To the worker itself: serve a table through this port, or none; the one before is let go. */
export type WorkerOrder = MessagePort | "rest";

/** A stream whose schema is known, and how far it is by then. */
export interface Opened {
  schema: Schema;
  progress: StreamProgress;
}

/** Requests to the worker: one answer each, or an error. */
export interface Requests {
  open: {
    /**
     * `wasm` is the module or its address, if not beside the worker. Where the table `isShown`, the page
     * asks for a window as soon as there are rows.
     */
    params: {
      source: WireSource;
      memoryBytes: number;
      wasm: WasmModule | string | undefined;
      isShown: boolean;
    };
    result: Opened;
  };
  /** Rows `[start, end)` of the given columns as a packed window (`grid/cells.ts`). */
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
  /** Work in slices: a view, or JSON. `job` is the number under which progress is told. */
  run: { params: { job: number; work: KernelWork }; result: ViewInfo | string };
  rowNumbers: {
    params: { view: number; start: number; end: number };
    result: Uint32Array<ArrayBuffer>;
  };
  release: { params: { view: number }; result: null };
  /** Waits until row `end - 1` is there, or is known not to be; the rows there are. */
  reach: { params: { end: number }; result: number };
  /** The rows as an Arrow IPC stream, in pieces. */
  stream: { params: null; result: Uint8Array<ArrayBuffer>[] };
  /** Stops reading; the rows that arrived stay readable. */
  stop: { params: null; result: null };
  /** The first rows are on the screen: more can be read. */
  painted: { params: null; result: null };
  /** Tries to go on now; Chromium tells workers nothing of being online again. */
  hurry: { params: null; result: null };
  /** Goes on after a failure that `canResume`. */
  resume: { params: null; result: null };
  /** Goes on after a pause, with another budget. */
  grow: { params: { memoryBytes: number }; result: null };
  /** A connection that was wanted may be opened, or others wait for it. */
  place: { params: { place: number; word: "go" | "yield" }; result: null };
}

/** What the worker says unasked. */
export interface Notices {
  progress: StreamProgress;
  end: StreamProgress & StreamEnd;
  /** The decoder trapped: this worker answers no more. */
  crash: PlainError;
  /** A connection is wanted, may be taken away, or is closed. */
  place: {
    place: number;
    word: "want" | "offer" | "leave";
    lane?: Lane;
    /** Whether some of what it is for is there already. */
    hasRows?: boolean;
  };
  /** How much of a job is done, of 1. */
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
