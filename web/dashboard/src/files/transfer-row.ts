import { html, nothing } from "lit";
import { cross } from "../ui/icons.js";

/** The name of a file on its way, what is known of it, and the button that takes it out. */
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

/** How much of it is done, from 0 to 1; undefined where nobody knows. */
export function progress(label: string, fraction: number | undefined) {
  return html`<progress
    aria-label=${label}
    max="1"
    value=${fraction === undefined ? nothing : Math.min(1, fraction)}
  ></progress>`;
}
