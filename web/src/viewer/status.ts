import type { TableProgress, TableState } from "../api/table.js";
import { formatCount } from "../model/counts.js";
import type { ColonnadeError } from "../model/errors.js";

/** The phase of a viewer: before there is a table, and then the table's. */
export type ViewerPhase =
  | "idle"
  | "connecting"
  | "running"
  | "interrupted"
  | "waiting"
  | "paused"
  | "arranging"
  | TableState;

/** How far the computation of rows has come whose number is unknown. */
export interface Computation {
  /** From 0 to 1; undefined if that is not known. */
  part?: number | undefined;
  /** What is shown of it. */
  words: readonly string[];
}

/** Nothing is known. */
export const UNKNOWN: Computation = { words: [] };

/** The phase of a viewer that shows a table. */
export function phaseOf(
  state: TableState,
  { rows, connection, pause }: TableProgress,
): ViewerPhase {
  const isReading = state === "streaming" || state === "windowed";
  if (isReading && connection !== "open") return connection;
  if (state !== "streaming") return state;
  if (pause !== undefined) return "paused";
  return rows === 0 ? "running" : state;
}

/** Whether rows are arriving, or expected. */
export function isRunningPhase(phase: ViewerPhase): boolean {
  return /^(?:connecting|running|streaming|interrupted|waiting)$/.test(phase);
}

/** Whether there may be more rows than are known. */
export function mayGrow(state: TableState | undefined, totalRows: number | undefined): boolean {
  return state === "streaming" || (state === "windowed" && totalRows === undefined);
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** `1 row`, `2 rows`. */
export function formatRows(count: number): string {
  return `${formatCount(count)} ${rowWord(count)}`;
}

/** `row` or `rows`. */
export function rowWord(count: number): string {
  return count === 1 ? "row" : "rows";
}

/** A size in decimal units with three significant digits, e.g. `742 MB`. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** A memory budget in binary units: `64 MiB`, `1.5 GiB`. */
export function formatMemory(bytes: number): string {
  const unit = [30, 20, 10].find((power) => bytes >= 2 ** power) ?? 0;
  const count = Math.round((bytes / 2 ** unit) * 10) / 10;
  return `${count} ${["B", "KiB", "MiB", "GiB"][unit / 10]}`;
}

/** A duration as text: `41 ms`, `3.2 s`, `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** The fraction that has arrived, from 0 to 1; undefined while the total is unknown. */
export function fraction(progress: TableProgress | undefined): number | undefined {
  const { rows = 0, totalRows } = progress ?? {};
  return totalRows ? Math.min(1, rows / totalRows) : undefined;
}

const PHASE_WORDS: Record<ViewerPhase, string> = {
  idle: "No table is open",
  connecting: "Connecting",
  running: "Running",
  streaming: "Streaming",
  interrupted: "Connection lost",
  waiting: "Waiting for other tables",
  paused: "Paused: the memory budget is full",
  arranging: "Sorting and filtering",
  complete: "Complete",
  windowed: "Windowed: rows load as you scroll",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** The text for a phase. */
export function phaseWord(phase: ViewerPhase): string {
  return PHASE_WORDS[phase];
}

/** The status of a lost connection; rows are counted from 1. */
export function interruptionText({ rows, interruption }: TableProgress): string {
  return `Connection lost at row ${formatCount((interruption?.row ?? rows) + 1)}. Resuming…`;
}

/** The facts of the status line, in the order in which they are shown. */
export function facts(phase: ViewerPhase, progress: TableProgress): string[] {
  const { bytes, elapsedMs, firstRowMs, leftOutFiles: files } = progress;
  const shown = files ? [`files left out: ${files}`] : [];
  if (phase === "running") return [formatDuration(elapsedMs)];
  // Rows are read only when they are shown, so a rate would be meaningless.
  if (phase === "windowed") return [...shown, `${formatBytes(bytes)} read`];
  if (bytes > 0) shown.push(formatBytes(bytes));
  if (phase === "waiting") return shown;
  if (bytes > 0 && elapsedMs > 0) shown.push(`${formatBytes((bytes / elapsedMs) * 1000)}/s`);
  if (elapsedMs > 0) shown.push(formatDuration(elapsedMs));
  if (firstRowMs !== undefined) shown.push(`first row in ${formatDuration(firstRowMs)}`);
  return shown;
}

/** The status as one sentence, for screen readers. */
export function announcement(phase: ViewerPhase, progress: TableProgress | undefined): string {
  const word = phaseWord(phase);
  if (phase === "connecting" || phase === "running") return `${word}…`;
  if (progress === undefined) return word;
  const { rows, totalRows } = progress;
  if (phase === "interrupted") return interruptionText(progress);
  const of =
    (phase === "streaming" || phase === "waiting") && totalRows !== undefined
      ? ` of ${formatCount(totalRows)}`
      : "";
  const atLeast = phase === "windowed" && totalRows === undefined ? "at least " : "";
  const count = `${atLeast}${formatCount(rows)}${of} ${rowWord(totalRows ?? rows)}`;
  // The bytes that scrolling loads are not announced each time.
  const more = phase === "windowed" ? [] : facts(phase, progress);
  return [`${word}${word.includes(":") ? ", " : ": "}${count}`, ...more].join(", ");
}

/** Whether the result no longer exists or changed, although its source may still exist. */
export function isGone(error: ColonnadeError | undefined): boolean {
  return /^(?:source_changed|rows_expired|not_repeatable|unknown_query)$/.test(error?.code ?? "");
}

/** Where in the data a failure happened, for the line under its message. */
export function errorPosition({ row, byte }: ColonnadeError): string {
  const positions: string[] = [];
  if (row) positions.push(`after ${formatRows(row)}`);
  if (byte) positions.push(`at byte ${formatCount(byte)}`);
  return positions.join(", ");
}
