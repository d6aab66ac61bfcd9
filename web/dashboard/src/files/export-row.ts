import { html } from "lit";
import { errorText } from "../server/response-error.js";
import { formatBytes, formatCount, formatRows } from "../text/format.js";
import type { Export } from "./export.js";
import { progress, rowHead } from "./transfer-row.js";
import type { Tray } from "./tray.js";

/** An export in the list of files. */
export function exportRow(item: Export, tray: Tray) {
  const { fileName, isRunning, options } = item;
  return html`<li class="tray-row" aria-label=${fileName}>
    ${rowHead({
      name: fileName,
      facts: options.format.label,
      close: isRunning ? undefined : () => tray.dismiss(item),
    })}
    ${renderState(item, tray)}
  </li>`;
}

function renderState(item: Export, tray: Tray) {
  const { state, totalRows, fileName } = item;
  const cancel = html`<button @click=${() => item.cancel()}>Cancel</button>`;
  switch (state.is) {
    case "preparing":
      return html`${progress(`Export to ${fileName}`, undefined)}
        <div class="tray-line"><p>Starting…</p>${cancel}</div>`;
    case "running": {
      const { rows, bytes } = state;
      const ofTotal = totalRows === undefined ? "" : ` of ${formatRows(totalRows)}`;
      const written = totalRows === undefined ? formatRows(rows) : formatCount(rows);
      return html`${progress(`Export to ${fileName}`, totalRows ? rows / totalRows : undefined)}
        <div class="tray-line">
          <p>${written}${ofTotal}${bytes > 0 ? ` · ${formatBytes(bytes)}` : ""}</p>
          ${cancel}
        </div>`;
    }
    case "done":
      return html`<p>${formatRows(state.rows)} · ${formatBytes(state.bytes)}, saved by the browser</p>`;
    case "failed":
      return html`<p class="tray-error">${errorText(state.error)}</p>
        <div class="tray-line">
          <button
            @click=${() => {
              tray.dismiss(item);
              void tray.export(item.options);
            }}
          >
            Try again
          </button>
        </div>`;
    case "cancelled":
      return html`<p>Cancelled. No complete file was saved.</p>`;
  }
}
