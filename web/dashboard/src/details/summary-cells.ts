import type { Summary } from "colonnade";
import { html, nothing, svg } from "lit";
import { formatCount } from "../text/format.js";

const WIDTH_PX = 132;
const HEIGHT_PX = 26;

/** The number of cells of a column's summary. */
export const NUM_SUMMARY_CELLS = 10;

/** A column's summary as table cells: nulls, empty texts, distinct values, extremes, quartiles, mean and distribution. */
export function summaryCells(summary: Summary) {
  const { rows, nulls, empties, distinct, distinct_is_approximate, min, max, mean } = summary;
  const distinctText =
    distinct === null ? "" : about(formatCount(distinct), distinct_is_approximate);
  const [lower, median, upper] = QUARTILES.map((key) => quartile(summary, key));
  return html`<td class="number" title=${`${formatCount(nulls)} of ${formatCount(rows)}`}>
      ${nulls === 0 ? "0" : percent(nulls, rows)}
    </td>
    <td class="number">${empties === undefined ? "" : formatCount(empties)}</td>
    <td class="number">${distinctText}</td>
    ${valueCell(min)} ${lower} ${median} ${upper} ${valueCell(max)} ${valueCell(mean)}
    <td>${distribution(summary)}</td>`;
}

const QUARTILES = ["lower", "median", "upper"] as const;

/** A quartile of values, or else of the lengths of texts. */
function quartile({ quartiles, lengths }: Summary, key: (typeof QUARTILES)[number]) {
  if (quartiles !== undefined) return valueCell(about(quartiles[key], quartiles.is_approximate));
  if (lengths === undefined) return valueCell(null);
  const length = lengths[key];
  const text = `${formatCount(length)} ${length === 1 ? "character" : "characters"}`;
  return html`<td class="value minor">${about(text, lengths.is_approximate)}</td>`;
}

function valueCell(text: string | null) {
  return html`<td class="value" title=${text ?? ""}>${text ?? ""}</td>`;
}

function about(text: string, isApproximate: boolean): string {
  return isApproximate ? `≈ ${text}` : text;
}

function distribution({ histogram, top, rows, min, max }: Summary) {
  if (histogram !== undefined) return bars(histogram, `Histogram from ${min} to ${max}`);
  if (top === undefined || top.length === 0) return nothing;
  const words = top
    .slice(0, 3)
    .map(({ value, count }) => `${value || "“”"} ${percent(count, rows)}`);
  return html`<span class="value" title=${words.join("\n")}>${words.join(" · ")}</span>`;
}

function bars({ edges, counts }: NonNullable<Summary["histogram"]>, span: string) {
  const most = Math.max(1, ...counts);
  const step = WIDTH_PX / counts.length;
  const mostAt = counts.indexOf(most);
  const label = `${span}, highest bar from ${edges[mostAt]} to ${edges[mostAt + 1]}`;
  return html`<svg class="bars" width=${WIDTH_PX} height=${HEIGHT_PX} role="img" aria-label=${label}>
    ${counts.map((count, bin) => {
      const height = count === 0 ? 0 : Math.max(1.5, (count / most) * HEIGHT_PX);
      return svg`<rect x=${bin * step} y=${HEIGHT_PX - height} width=${Math.max(1, step - 1)} height=${height}><title>${edges[bin]} to ${edges[bin + 1]}: ${formatCount(count)}</title></rect>`;
    })}
  </svg>`;
}

function percent(part: number, whole: number): string {
  if (whole === 0) return "0 %";
  const share = (part / whole) * 100;
  if (share > 0 && share < 0.1) return "< 0.1 %";
  return `${share.toFixed(share < 10 ? 1 : 0)} %`;
}
