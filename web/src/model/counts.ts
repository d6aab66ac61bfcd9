/**
 * `1234567.5` as `1,234,567.5`: digits are only grouped, so that none is lost. Not by `Intl`, whose
 * first use holds a page up for 25 ms and more, and the first row with it.
 */
export function groupDigits(text: string): string {
  return text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(?:\d{3})+$)/g, ","));
}

/** `6001215` as `6,001,215`. */
export function formatCount(count: number): string {
  return groupDigits(String(count));
}
