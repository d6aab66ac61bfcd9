import { html, nothing } from "lit";
import { formatAddress } from "../address/address.js";
import type { Shell } from "../shell/shell.js";
import { copyText } from "../ui/copy-button.js";
import { code, link } from "../ui/icons.js";
import { embedCode } from "./embed-code.js";

/** Buttons that copy the page's address, and HTML that shows the same rows in another page. */
export function linkActions(shell: Shell) {
  const { address, viewer } = shell;
  // Only this tab has its local files, so no link can name them.
  if (address.subject !== undefined && "file" in address.subject) return nothing;
  // Read at the click, because the address changes with the viewer's filters without a new render.
  const url = () => new URL(formatAddress(shell.address), location.href).href;
  return html`<button
      class="action"
      @click=${() => copyText(viewer, url(), "Link copied")}
    >
      ${link}<span>Copy link</span>
    </button>
    <button
      class="action"
      title="Copy HTML that shows these rows in another page"
      @click=${() => copyText(viewer, embedCode(shell.address, location.origin), "Embed code copied")}
    >
      ${code}<span>Copy embed code</span>
    </button>`;
}
