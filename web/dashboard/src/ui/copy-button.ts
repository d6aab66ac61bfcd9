import { html } from "lit";
import { copy as icon } from "./icons.js";

/** Asks the page to show a notification; the detail is its text. */
export type NotificationEvent = CustomEvent<string>;

/** Copies a text; a notification says `done`, or why the browser does not allow it. */
export async function copyText(from: EventTarget, text: string, done: string): Promise<void> {
  let notification = done;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    notification = "The browser blocked the clipboard. Select the text and copy it.";
  }
  from.dispatchEvent(
    new CustomEvent("notification", { detail: notification, bubbles: true, composed: true }),
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
