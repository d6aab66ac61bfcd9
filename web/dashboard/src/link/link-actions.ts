import { html, nothing } from "lit";
import { addressOf } from "../address/address.js";
import type { Shell } from "../shell/shell.js";
import { copyText } from "../ui/copy-button.js";
import { code, link } from "../ui/icons.js";
import { embedCode } from "./embed-code.js";

/** Buttons that copy the address of what is shown, and what shows it in another page. */
export function linkActions(shell: Shell) {
  const { place, viewer } = shell;
  // Nobody else has a file that is open in this tab.
  if (place.subject !== undefined && "file" in place.subject) return nothing;
  // The place may be another by the time of the click: rows are filtered without the shell's doing.
  const address = () => new URL(addressOf(shell.place), location.href).href;
  return html`<button
      class="action"
      @click=${() => copyText(viewer, address(), "Link copied")}
    >
      ${link}<span>Copy link</span>
    </button>
    <button
      class="action"
      title="A piece of HTML that shows the same in another page"
      @click=${() => copyText(viewer, embedCode(shell.place, location.origin), "Embed code copied")}
    >
      ${code}<span>Copy embed code</span>
    </button>`;
}
