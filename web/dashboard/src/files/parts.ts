import { html } from "lit";
import type { Part } from "../shell/shell.js";

export { addFiles } from "./add-files.js";

/** What files are dropped on, and those that are on their way. */
export const fileTray: Part = (shell) => html`<file-tray .shell=${shell}></file-tray>`;

/** Saves what is shown as a file. */
export const exportAction: Part = (shell) => html`<export-menu .shell=${shell}></export-menu>`;

/** Shows code that fetches what is shown. */
export const codeAction: Part = (shell) => html`<code-dialog .shell=${shell}></code-dialog>`;
