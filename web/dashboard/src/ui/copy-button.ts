import { html } from "lit";
import { copy as icon } from "./icons.js";

/** Told by parts of the page of what was done; the shell says it. */
export type SaidEvent = CustomEvent<string>;

/** Copies a text, and says so, or why not. */
export async function copyText(from: EventTarget, text: string, done: string): Promise<void> {
  let said = done;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = "The browser does not allow the clipboard here. Select the text and copy it.";
  }
  from.dispatchEvent(new CustomEvent("said", { detail: said, bubbles: true, composed: true }));
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
