import { html, nothing } from "lit";
import type { Table } from "../table.js";
import { formatRows, type ViewerPhase } from "./status.js";

/** From here on a reader wants to know how long it has been waiting. */
const SLOW_MS = 1000;

/**
 * What stands where rows would be; nothing where there are some.
 *
 * @param startMs when the source was opened, by `performance.now()`
 */
export function stageMessage(phase: ViewerPhase, table: Table | undefined, startMs: number) {
  if (table === undefined) {
    if (phase === "failed") return nothing;
    if (phase === "connecting") {
      const waitedMs = performance.now() - startMs;
      const seconds = Math.floor(waitedMs / 1000);
      if (waitedMs < SLOW_MS) return nothing;
      return html`<div class="message">Waiting for the first rows… ${seconds} s</div>`;
    }
    const word = phase === "cancelled" ? "Cancelled before the first row." : "Nothing to show yet.";
    return html`<div class="message">${word}</div>`;
  }
  if (table.schema.fields.length === 0) {
    return html`<div class="message">
      <strong>This table has no columns</strong>
      <span>${formatRows(table.numRows)}</span>
    </div>`;
  }
  if (phase === "complete" && table.numRows === 0) {
    return html`<div class="message below-header">
      <strong>No rows</strong>
      <span>The result is complete and empty.</span>
    </div>`;
  }
  return nothing;
}
