const countFormat = new Intl.NumberFormat("en");

/** `6001215` as `6,001,215`. */
export function formatCount(count: number): string {
  return countFormat.format(count);
}

/** A duration for people: `41 ms`, `3.2 s`, `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** `6001215` as `6,001,215 rows`. */
export function formatRows(rows: number): string {
  return `${countFormat.format(rows)} ${rows === 1 ? "row" : "rows"}`;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** A size in decimal units, e.g. `206 MB`. */
export function formatBytes(bytes: number): string {
  const power = Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const unit = Math.min(power, UNITS.length - 1);
  const value = bytes / 1000 ** unit;
  return `${value.toFixed(value < 9.95 && unit > 0 ? 1 : 0)} ${UNITS[unit]}`;
}
