import { html } from "lit";
import type { Shell } from "../shell/shell.js";

/** Buttons of the top bar: what the server works on, and the sheet of shortcuts. */
export function liveActions({ viewer }: Shell) {
  return html`<queries-panel></queries-panel><help-sheet .viewer=${viewer}></help-sheet>`;
}

/** What is said while the server is away, and what is printed. */
export function liveOverlays({ viewer }: Shell) {
  return html`<server-watch .viewer=${viewer}></server-watch
    ><print-sheet .viewer=${viewer}></print-sheet>`;
}
