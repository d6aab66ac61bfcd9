import { html, nothing } from "lit";
import type { IncomingFile } from "./incoming-file.js";
import type { NameCheck } from "./table-name.js";
import type { Tray } from "./tray.js";

/**
 * The form that uploads a file: the name of its table, and whether it replaces a table.
 *
 * @param actions buttons before that of the upload
 * @param upload called when the form is submitted with a name that is valid
 */
export function nameForm(incoming: IncomingFile, tray: Tray, actions: unknown, upload: () => void) {
  const { server } = tray;
  if (server === undefined) return nothing;
  const check = incoming.check(server, tray.incoming);
  const canSend = incoming.isReady(server, tray.incoming);
  return html`<form
    class="tray-name"
    @submit=${(event: SubmitEvent) => {
      event.preventDefault();
      if (canSend) upload();
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
          incoming.setName((event.currentTarget as HTMLInputElement).value);
        }}
    /></label>
    <span class="tray-actions"
      >${actions}<button class="primary" aria-disabled=${canSend ? nothing : "true"}>
        ${check.is === "uploaded" ? "Replace" : "Upload"}
      </button></span
    >
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
        incoming.setReplaces((event.currentTarget as HTMLInputElement).checked);
      }}
    />Replace the uploaded table ${incoming.name}</label
  >`;
}
