import { html, nothing } from "lit";
import type { Table } from "../api/table.js";
import { formatBytes, formatMemory, formatRows } from "./status.js";

/** The choice when the memory budget is full and the source cannot be read by row. */
export function pauseAlert(table: Table) {
  const memoryBytes = 2 * table.memoryBytes;
  return html`<div class="alert choice" role="alert">
    <div class="words">
      <p class="what">The memory budget of ${formatMemory(table.memoryBytes)} is full.</p>
      <p class="detail">${formatRows(table.numRows)} arrived; reading pauses until you choose.</p>
    </div>
    <button @click=${() => table.resume({ memoryBytes })}>
      Continue with ${formatMemory(memoryBytes)}
    </button>
    <button @click=${() => table.cancel()}>Keep these rows</button>
  </div>`;
}

const WARNINGS = {
  no_end_of_stream: ["no end marker", "The stream has no end-of-stream marker."],
  unidentified_file: [
    "not checked for changes",
    "The host sends neither ETag nor Last-Modified that this page may see, so a change of the file while it is read would not be noticed.",
  ],
  no_ranges: [
    "read whole",
    'The host does not send parts of a file ("Accept-Ranges: bytes"), so all of it was read.',
  ],
} as const;

/** What is to be said of the source of a table, and the button that reads all rows of a file. */
export function sourceNotice(table: Table, loadAll: (() => void) | undefined) {
  const { file, state, warning = file?.warning } = table;
  const [words, title] = warning === undefined ? [] : WARNINGS[warning];
  const mayLoadAll = state === "windowed" && file?.isOnDemand && loadAll !== undefined;
  return html`${words === undefined ? nothing : html`<span class="warning" title=${title}>${words}</span>`}${
    mayLoadAll
      ? html`<button title="Read all rows, so that they can be sorted, filtered and searched" @click=${loadAll}>
          Load all (${formatBytes(file.bytes)})
        </button>`
      : nothing
  }`;
}
