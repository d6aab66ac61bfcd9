import { html, nothing } from "lit";
import { errorText } from "../server/response-error.js";
import { formatBytes, formatRows } from "../text/format.js";
import type { IncomingFile } from "./incoming-file.js";
import { nameForm } from "./name-form.js";
import { optionsText } from "./text-options.js";
import { progress, rowHead } from "./transfer-row.js";
import type { Tray } from "./tray.js";

const TYPE_LABELS = {
  arrow: "Arrow",
  parquet: "Parquet",
  csv: "CSV",
  tsv: "TSV",
  ndjson: "NDJSON",
  json: "JSON",
} as const;

/** An opened file in the list of files. */
export function incomingRow(incoming: IncomingFile, tray: Tray) {
  const { file, fileType, isRunning } = incoming;
  const facts = [fileType === undefined ? "" : TYPE_LABELS[fileType], formatBytes(file.size)];
  return html`<li class="tray-row" tabindex="-1" aria-label=${file.name}>
    ${rowHead({
      name: file.name,
      facts: facts.filter(Boolean).join(" · "),
      close: isRunning ? undefined : () => tray.dismiss(incoming),
    })}
    ${renderState(incoming, tray)}
  </li>`;
}

function renderState(incoming: IncomingFile, tray: Tray) {
  const { state, file } = incoming;
  switch (state.is) {
    case "refused":
      return html`<p class="tray-error">
        ${state.reason} ${state.command === undefined ? nothing : html`<code>${state.command}</code>`}
      </p>`;
    case "local":
      return html`<div class="tray-line">
        <p>Open in this tab only; nothing was sent.</p>
        <button @click=${() => tray.offer(incoming)}>Upload</button>
        <button @click=${() => tray.show(incoming)}>Show</button>
      </div>`;
    case "named":
      return html`${nameForm(
        incoming,
        tray,
        optionsButton(incoming, tray),
        () => void tray.send(incoming),
      )}${renderOptions(incoming)}`;
    case "sending": {
      const sent = `${formatBytes(state.sentBytes)} of ${formatBytes(file.size)} sent`;
      return html`${progress(`Upload of ${file.name}`, state.sentBytes / file.size)}
        <div class="tray-line">
          <p>${sent}</p>
          <button @click=${() => incoming.cancel()}>Cancel</button>
        </div>`;
    }
    case "checking":
      return html`${progress(`Upload of ${file.name}`, undefined)}
        <div class="tray-line">
          <p>The server is checking the file…</p>
          <button @click=${() => incoming.cancel()}>Cancel</button>
        </div>`;
    case "done": {
      const { name, rows } = state.table;
      return html`<div class="tray-line">
        <p>Table <b>${name}</b>${rows === null ? "" : `, ${formatRows(rows)}`}</p>
        ${optionsButton(incoming, tray)}
        <button @click=${() => tray.show(incoming)}>Show</button>
      </div>`;
    }
    case "failed":
      return html`<p class="tray-error">${errorText(state.error)}</p>
        ${renderOptions(incoming)}
        <div class="tray-line">
          <button @click=${() => incoming.rename()}>Try again</button>
          ${optionsButton(incoming, tray)}
        </div>`;
    case "cancelled":
      return html`<div class="tray-line">
        <p>Cancelled. The server kept no part of the file.</p>
        <button @click=${() => incoming.rename()}>Upload again</button>
      </div>`;
  }
}

/** The button that opens the options of a text file's upload. */
function optionsButton(incoming: IncomingFile, tray: Tray) {
  if (!incoming.isText) return nothing;
  return html`<button
    type="button"
    aria-haspopup="dialog"
    @click=${() => tray.openOptions(incoming)}
  >
    Options…
  </button>`;
}

function renderOptions({ options }: IncomingFile) {
  const text = optionsText(options);
  return text === "" ? nothing : html`<p class="minor">Options: <code>${text}</code></p>`;
}
