import { html } from "lit";
import { link } from "../icons.js";
import type { Shell } from "../shell.js";

/** Buttons that copy the address of what is shown. */
export function linkActions(shell: Shell) {
  return html`<button class="action" @click=${() => copy(shell, location.href, "Link copied")}>
    ${link}<span>Copy link</span>
  </button>`;
}

async function copy(shell: Shell, text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    shell.say(done);
  } catch {
    shell.say("The browser did not allow the clipboard. Copy the address from its bar.");
  }
}
