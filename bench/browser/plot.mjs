// Plots as SVG, readable on light and dark pages.

const WIDTH = 720;
const COLORS = ["#767676", "#0b6fc2", "#53a4e0", "#c8651b", "#3f8f4f", "#8a5cc7", "#b8922a"];

/** Horizontal bars on a logarithmic axis: `{ label, value, text }`. */
export function bars(title, unit, items) {
  const rowPx = 26;
  const [leftPx, rightPx, topPx] = [190, 90, 34];
  const values = items.map(({ value }) => value);
  const [least, most] = [10 ** Math.floor(Math.log10(Math.min(...values))), Math.max(...values)];
  const scale = (value) =>
    (Math.log(value / least) / Math.log(most / least)) * (WIDTH - leftPx - rightPx);
  const rows = items.map(({ label, value, text, isOurs }, index) => {
    const y = topPx + index * rowPx;
    const width = Math.max(2, scale(value)).toFixed(1);
    return [
      `<text x="${leftPx - 8}" y="${y + 15}" text-anchor="end"${isOurs ? ' font-weight="bold"' : ""}>${label}</text>`,
      `<rect x="${leftPx}" y="${y + 3}" width="${width}" height="${rowPx - 8}" fill="${isOurs ? COLORS[1] : COLORS[0]}"/>`,
      `<text x="${leftPx + Number(width) + 6}" y="${y + 15}">${text}</text>`,
    ].join("");
  });
  return svg(title, `${unit}, logarithmic`, topPx + items.length * rowPx + 8, rows.join("\n"));
}

/** Lines over named steps: `{ label, values }`, with a value or undefined for each step. */
export function lines(title, unit, steps, series) {
  const [leftPx, rightPx, topPx, heightPx] = [60, 170, 44, 260];
  const most = Math.max(...series.flatMap(({ values }) => values.filter((value) => value)));
  const x = (index) => leftPx + (index * (WIDTH - leftPx - rightPx)) / (steps.length - 1);
  const y = (value) => topPx + heightPx * (1 - value / most);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const value = share * most;
    return `<path d="M${leftPx} ${y(value).toFixed(1)}H${WIDTH - rightPx}" stroke="#8884"/><text x="${leftPx - 8}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${Math.round(value)}</text>`;
  });
  const names = steps.map(
    (step, index) =>
      `<text x="${x(index).toFixed(1)}" y="${topPx + heightPx + 20}" text-anchor="middle">${step}</text>`,
  );
  const paths = series.map(({ label, values, isOurs }, index) => {
    const points = values
      .map((value, step) => (value ? `${x(step).toFixed(1)},${y(value).toFixed(1)}` : ""))
      .filter(Boolean);
    const color = COLORS[index % COLORS.length];
    const last = values.findLast((value) => value) ?? 0;
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${color}" stroke-width="${isOurs ? 3 : 1.5}"/><text x="${WIDTH - rightPx + 8}" y="${(y(last) + 4).toFixed(1)}" fill="${color}">${label}</text>`;
  });
  return svg(title, unit, topPx + heightPx + 34, [...ticks, ...names, ...paths].join("\n"));
}

function svg(title, unit, height, content) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13" fill="#767676" role="img" aria-label="${title}">
<title>${title}</title>
<text x="0" y="16" font-size="15" font-weight="bold">${title}</text>
<text x="${WIDTH}" y="16" text-anchor="end">${unit}</text>
${content}
</svg>
`;
}
