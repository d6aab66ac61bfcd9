// Formats numbers for the report.

/** The median of numbers; of an even count, the upper of the two middle ones. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** A time in milliseconds, without the unit. */
export function formatMs(ms) {
  return ms < 10 ? ms.toFixed(1) : ms.toFixed(0);
}

/** Formats a ratio; one below 1 as 1/n. */
export function fraction(number) {
  return number < 1 ? `1/${(1 / number).toFixed(1)}` : number.toFixed(2);
}

export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/** The median, with the minimum and maximum in brackets. */
export function spread(values) {
  return `${formatMs(median(values))} (${formatMs(Math.min(...values))}–${formatMs(Math.max(...values))})`;
}

/** A Markdown table. */
export function markdown(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
