import { html } from "lit";
import { openFile } from "../ui/icons.js";
import { tray } from "./tray.js";

/** The button that opens files, as an alternative to dropping them. */
export function addFiles() {
  return html`<button
      class="action"
      title="Open or upload files. You can also drop files anywhere on the page."
      @click=${({ currentTarget }: Event) => {
        ((currentTarget as Element).nextElementSibling as HTMLInputElement).click();
      }}
    >
      ${openFile}<span>Open files</span></button
    ><input
      type="file"
      multiple
      hidden
      aria-label="Files to open"
      @change=${({ currentTarget }: Event) => {
        const input = currentTarget as HTMLInputElement;
        void tray.add([...(input.files ?? [])]);
        // Allow the same file to be chosen again.
        input.value = "";
      }}
    />`;
}
