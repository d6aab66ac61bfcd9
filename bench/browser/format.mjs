// Numbers as the report tells them.

/** The middle one of some numbers. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Milliseconds. */
export function told(ms) {
  return ms < 10 ? ms.toFixed(1) : ms.toFixed(0);
}

/** A ratio; below 1 as 1/n. */
export function fraction(number) {
  return number < 1 ? `1/${(1 / number).toFixed(1)}` : number.toFixed(2);
}

export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/** The median, the least and the most. */
export function spread(values) {
  return `${told(median(values))} (${told(Math.min(...values))}–${told(Math.max(...values))})`;
}

/** A table of Markdown. */
export function markdown(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
