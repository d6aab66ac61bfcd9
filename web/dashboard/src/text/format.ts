/** `6001215` as `6,001,215`. Without `Intl`, whose first use blocks the page for at least 25 ms. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** `6001215` as `6,001,215 rows`. */
export function formatRows(rows: number): string {
  return `${formatCount(rows)} ${rows === 1 ? "row" : "rows"}`;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** A size in decimal units, e.g. `206 MB`. */
export function formatBytes(bytes: number): string {
  const power = Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const unit = Math.min(power, UNITS.length - 1);
  const value = bytes / 1000 ** unit;
  return `${value.toFixed(value < 9.95 && unit > 0 ? 1 : 0)} ${UNITS[unit]}`;
}

/** A duration, e.g. `41 ms`, `3.2 s`, `2 min 5 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 999.5) return `${Math.round(durationMs)} ms`;
  const seconds = durationMs / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** A moment in the reader's locale; only the time if it is today. */
export function formatWhen(atMs: number, nowMs = Date.now()): string {
  const [at, now] = [new Date(atMs), new Date(nowMs)];
  const isToday = at.toDateString() === now.toDateString();
  const time = at.toLocaleTimeString(undefined, { timeStyle: "short" });
  return isToday ? time : `${at.toLocaleDateString(undefined, { dateStyle: "medium" })}, ${time}`;
}
