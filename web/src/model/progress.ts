import type { PlainError } from "./errors.js";

/** A lost connection that is being re-established. */
export interface Interruption {
  /** The next row, counted from 0. */
  row: number;
  /** The number of this try, from 1. */
  attempt: number;
  /** When the connection was lost, in milliseconds as `Date.now()` counts them. */
  since: number;
}

/** The progress of a stream. Counters only grow. */
export interface StreamProgress {
  /** Rows that can be read. */
  rows: number;
  /** The total number of rows, once the server has reported it. */
  totalRows?: number | undefined;
  batches: number;
  /** Bytes of the stream read so far. */
  bytes: number;
  /** Milliseconds since the stream was requested. */
  elapsedMs: number;
  /** Milliseconds until the first row was readable; undefined before. */
  firstRowMs: number | undefined;
  /** The number of files that the rows lack, because a Colonnade server could not read them. */
  leftOutFiles?: number | undefined;
  /** Set while the connection is lost and the stream reconnects. */
  interruption: Interruption | undefined;
  /** Set while the stream has yielded its connection to others; it continues by itself. */
  isWaiting?: boolean | undefined;
  /** Why reading pauses until it is resumed or cancelled: the memory budget is full. */
  pause?: PlainError | undefined;
}

/** The end of a stream. */
export interface StreamEnd {
  state: "complete" | "windowed" | "failed" | "cancelled";
  error?: PlainError;
  warning?: "no_end_of_stream";
  /** After a failure: the stream may continue from its last row. */
  canResume?: boolean;
}
