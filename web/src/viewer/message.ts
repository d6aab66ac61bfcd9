import { html, nothing } from "lit";
import type { Field } from "../model/schema.js";
import { formatRows, type ViewerPhase } from "./status.js";

/** After this time, the message says how long the wait has been. */
const SLOW_MS = 1000;

/** The message in place of rows while there are none to show. */
export function message(
  phase: ViewerPhase,
  {
    fields,
    numRows,
    isFiltered,
    waitedMs,
  }: {
    /** Undefined while there is no table. */
    fields: readonly Field[] | undefined;
    numRows: number;
    isFiltered: boolean;
    /** Time since the table was opened. */
    waitedMs: number;
  },
) {
  if (fields === undefined) {
    if (phase === "failed") return nothing;
    if (phase === "connecting") {
      if (waitedMs < SLOW_MS) return nothing;
      const seconds = Math.floor(waitedMs / 1000);
      return html`<div class="message">Waiting for the first rows… ${seconds} s</div>`;
    }
    const word = phase === "cancelled" ? "Cancelled before the first row." : "No table is open.";
    return html`<div class="message">${word}</div>`;
  }
  if (fields.length === 0) {
    return html`<div class="message">
      <strong>This table has no columns</strong>
      <span>${formatRows(numRows)}</span>
    </div>`;
  }
  const isKept = isFiltered && (phase === "failed" || phase === "cancelled");
  if ((phase === "complete" || isKept) && numRows === 0) {
    const which = isKept ? "None of the rows that arrived matches" : "No rows match";
    const why = isFiltered ? `${which} the filter.` : "The result is empty.";
    return html`<div class="message below-header"><strong>No rows</strong><span>${why}</span></div>`;
  }
  return nothing;
}
