import { html, nothing } from "lit";
import { copyText } from "../copying.js";
import { code, link } from "../icons.js";
import { addressOf } from "../location.js";
import type { Shell } from "../shell.js";
import { embedCode } from "./embed-code.js";

/** Buttons that copy the address of what is shown, and what shows it in another page. */
export function linkActions({ place, viewer }: Shell) {
  const { subject } = place;
  // Nobody else has a file that is open in this tab.
  if (subject !== undefined && "file" in subject) return nothing;
  const address = () => new URL(addressOf(place), location.href).href;
  return html`<button
      class="action"
      @click=${() => copyText(viewer, address(), "Link copied")}
    >
      ${link}<span>Copy link</span>
    </button>
    <button
      class="action"
      title="A piece of HTML that shows the same in another page"
      @click=${() => copyText(viewer, embedCode(place, location.origin), "Embed code copied")}
    >
      ${code}<span>Copy embed code</span>
    </button>`;
}
