import type { Summary } from "colonnade";
import { html, nothing, svg } from "lit";
import { formatCount } from "../text/format.js";

const WIDTH_PX = 132;
const HEIGHT_PX = 26;

/** A column's summary as table cells: nulls, distinct values, extremes and distribution. */
export function summaryCells(summary: Summary) {
  const { rows, nulls, distinct, min, max } = summary;
  const distinctText = distinct === null ? "" : `≈ ${formatCount(distinct)}`;
  return html`<td class="number" title=${`${formatCount(nulls)} of ${formatCount(rows)}`}>
      ${nulls === 0 ? "0" : percent(nulls, rows)}
    </td>
    <td class="number">${distinctText}</td>
    <td class="value" title=${min ?? ""}>${min ?? ""}</td>
    <td class="value" title=${max ?? ""}>${max ?? ""}</td>
    <td>${distribution(summary)}</td>`;
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
