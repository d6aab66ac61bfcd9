import { html, nothing } from "lit";
import type { Table, TableProgress } from "../api/table.js";
import { formatCount } from "../model/counts.js";
import {
  type Computation,
  facts,
  interruptionText,
  phaseWord,
  rowWord,
  type ViewerPhase,
} from "./status.js";

/**
 * The status line below the rows.
 *
 * @param isArranged whether the rows are sorted or filtered in the tab
 */
export function statusLine(
  phase: ViewerPhase,
  table: Table | undefined,
  progress: TableProgress | undefined,
  isArranged: boolean,
  { words }: Computation,
) {
  const dot = html`<i class="dot ${phase}"></i>`;
  if (table === undefined || progress === undefined)
    return html`${dot}<span>${phaseWord(phase)}</span>`;
  const minor = [...facts(phase, progress), ...words].map(
    (fact) => html`<span class="minor ${phase}">${fact}</span>`,
  );
  if (phase === "running") return html`${dot}<span>${phaseWord(phase)}</span>${minor}`;
  if (phase === "interrupted") {
    return html`${dot}<span class="warning">${interruptionText(progress)}</span>`;
  }
  const { rows, totalRows } = progress;
  const isWhole = phase === "complete" || phase === "windowed" || phase === "arranging";
  const isKept = isArranged && (phase === "failed" || phase === "cancelled");
  const more = phase === "windowed" && totalRows === undefined ? "+" : "";
  const all = isKept ? table.numRows : totalRows;
  const of =
    isWhole || all === undefined || (isKept && all === rows) ? "" : ` of ${formatCount(all)}`;
  const columns = table.schema.fields.length;
  return html`${dot}<span
      ><span class="count">${formatCount(rows)}${more}</span>${of} ${rowWord(all ?? rows)}${isKept ? " that arrived" : ""}</span
    >${phase === "complete" ? nothing : html`<span>${phaseWord(phase)}</span>`}
    <span class="minor">${columns} ${columns === 1 ? "column" : "columns"}</span
    >${minor}`;
}
