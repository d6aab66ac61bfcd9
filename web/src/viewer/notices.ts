import { html, nothing } from "lit";
import type { Table } from "../api/table.js";
import type { Arrangement } from "../model/arrangement.js";
import { ColonnadeError } from "../model/errors.js";
import { distinctFields } from "../model/schema.js";
import { columnsOf } from "./filters.js";
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
export function sourceNotice(
  table: Table,
  loadAll: (() => void) | null | "",
  wanted: Arrangement | false,
) {
  const { file, state, warning = file?.warning } = table;
  const [words, title] = warning === undefined ? [] : WARNINGS[warning];
  const mayLoadAll = state === "windowed" && file?.canLoadAll && loadAll;
  const reads = wanted && state === "windowed" ? bytesToRead(table, wanted) : undefined;
  return html`${reads === undefined ? nothing : html`<span>reads up to ${formatBytes(reads)}</span>`} ${words === undefined ? nothing : html`<span class="warning" title=${title}>${words}</span>`}${
    mayLoadAll
      ? html`<button title="Read all rows into memory: then they sort, filter and search at once" @click=${loadAll}>
          Load all (${formatBytes(file?.bytes ?? 0)})
        </button>`
      : nothing
  }`;
}

/** The most that an arrangement reads of the file that a table shows, in bytes; undefined for other sources. */
function bytesToRead({ file, schema }: Table, { sort, filter }: Arrangement): number | undefined {
  const { bytes, columnBytes } = file ?? {};
  // The rows come from all over the file.
  if (columnBytes === undefined || sort.length > 0) return bytes;
  const names = distinctFields(schema.fields).map(({ name }) => name);
  return [...columnsOf(filter, names)].reduce(
    (sum, name) => sum + (columnBytes[names.indexOf(name)] ?? 0),
    0,
  );
}

/** The error of an arrangement that needs all rows of a table. */
export function notComplete({ state, paused }: Table): ColonnadeError {
  const isComing = state === "streaming" && paused === undefined;
  return new ColonnadeError(
    "not_complete",
    "These rows can be sorted and filtered only once all have arrived.",
    {
      hint: isComing ? "Try again when the table is complete." : "Load all rows first.",
    },
  );
}
