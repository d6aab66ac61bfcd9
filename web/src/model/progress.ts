import type { PlainError } from "./errors.js";

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
