import { html } from "lit";
import { copyToClipboard } from "./clipboard.js";
import { copy as icon } from "./icons.js";

/** Asks the page to show a notification; the detail is its text. */
export type NotificationEvent = CustomEvent<string>;

/** Copies a text, and says `done` in a notification. If the browser does not allow it, shows the text selected. */
export async function copyText(from: EventTarget, text: string, done: string): Promise<void> {
  if (!(await copyToClipboard(text))) {
    prompt("The browser blocked the clipboard. Copy this text:", text);
    return;
  }
  from.dispatchEvent(
    new CustomEvent("notification", { detail: done, bubbles: true, composed: true }),
  );
}

/** A button that copies a text. */
export function copyButton(label: string, text: () => string) {
  return html`<button
    class="icon"
    aria-label=${label}
    title=${label}
    @click=${(event: MouseEvent) => {
      if (event.currentTarget !== null) void copyText(event.currentTarget, text(), "Copied");
    }}
  >
    ${icon}
  </button>`;
}
