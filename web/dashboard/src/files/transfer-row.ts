import { html, nothing } from "lit";
import { cross } from "../ui/icons.js";

/** The head of a row: the file name, its facts, and a button that removes the row. */
export function rowHead({
  name,
  facts,
  close,
}: {
  name: string;
  facts: string;
  close: (() => void) | undefined;
}) {
  return html`<div class="tray-head">
    <span class="tray-file" title=${name}>${name}</span><span class="minor">${facts}</span>
    ${
      close === undefined
        ? nothing
        : html`<button class="icon" aria-label=${`Remove ${name} from the list`} @click=${close}>
            ${cross}
          </button>`
    }
  </div>`;
}

/** A progress bar from 0 to 1; indeterminate for undefined. */
export function progress(label: string, fraction: number | undefined) {
  return html`<progress
    aria-label=${label}
    max="1"
    value=${fraction === undefined ? nothing : Math.min(1, fraction)}
  ></progress>`;
}
