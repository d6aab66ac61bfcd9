import { html, nothing } from "lit";
import { errorText } from "../server/response-error.js";
import { formatBytes, formatRows } from "../text/format.js";
import type { IncomingFile } from "./incoming-file.js";
import type { NameCheck } from "./table-name.js";
import { progress, rowHead } from "./transfer-row.js";
import type { Tray } from "./tray.js";

const TYPE_LABELS = {
  arrow: "Arrow",
  parquet: "Parquet",
  csv: "CSV",
  tsv: "TSV",
  ndjson: "NDJSON",
} as const;

/** An opened file in the list of files. */
export function incomingRow(incoming: IncomingFile, tray: Tray) {
  const { file, fileType, isRunning } = incoming;
  const facts = [fileType === undefined ? "" : TYPE_LABELS[fileType], formatBytes(file.size)];
  return html`<li class="tray-row" aria-label=${file.name}>
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
      return renderName(incoming, tray);
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
        <button @click=${() => tray.show(incoming)}>Show</button>
      </div>`;
    }
    case "failed":
      return html`<p class="tray-error">${errorText(state.error)}</p>
        <div class="tray-line"><button @click=${() => incoming.rename()}>Try again</button></div>`;
    case "cancelled":
      return html`<div class="tray-line">
        <p>Cancelled. The server kept no part of the file.</p>
        <button @click=${() => incoming.rename()}>Upload again</button>
      </div>`;
  }
}

function renderName(incoming: IncomingFile, tray: Tray) {
  const { server } = tray;
  if (server === undefined) return nothing;
  const check = incoming.check(server, tray.incoming);
  const canSend = incoming.isReady(server, tray.incoming);
  return html`<form
    class="tray-name"
    @submit=${(event: SubmitEvent) => {
      event.preventDefault();
      if (canSend) void tray.send(incoming);
    }}
  >
    <label
      ><span>Table</span
      ><input
        type="text"
        aria-label=${`Table name for ${incoming.file.name}`}
        autocomplete="off"
        autocapitalize="off"
        spellcheck="false"
        .value=${incoming.name}
        aria-invalid=${check.is === "wrong" ? "true" : nothing}
        @input=${(event: InputEvent) => {
          incoming.name = (event.currentTarget as HTMLInputElement).value;
          incoming.replaces = false;
          incoming.rename();
        }}
    /></label>
    <button class="primary" aria-disabled=${canSend ? nothing : "true"}>
      ${check.is === "uploaded" ? "Replace" : "Upload"}
    </button>
    ${renderCheck(incoming, check)}
  </form>`;
}

function renderCheck(incoming: IncomingFile, check: NameCheck) {
  if (check.is === "free") return nothing;
  if (check.is === "wrong")
    return html`<p class="tray-error" aria-live="polite">${check.reason}</p>`;
  return html`<label class="tray-replace"
    ><input
      type="checkbox"
      .checked=${incoming.replaces}
      @change=${(event: Event) => {
        incoming.replaces = (event.currentTarget as HTMLInputElement).checked;
        incoming.rename();
      }}
    />Replace the uploaded table ${incoming.name}</label
  >`;
}
