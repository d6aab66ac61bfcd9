// The panels of the page by their position. To add one, write an entry in one of these lists.

import { html } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { addFiles } from "../files/add-files.js";
import { linkActions } from "../link/link-actions.js";
import type { Panel } from "../shell/shell.js";

/** The top bar's buttons, at its right end. */
export const barPanels: readonly Panel[] = [
  addFiles,
  (shell) => html`<queries-panel .shell=${shell}></queries-panel>`,
  ({ viewer }) => html`<help-sheet .viewer=${viewer}></help-sheet>`,
  () => html`<sign-out></sign-out>`,
];

/** Actions on the shown rows, beside the view's tabs. */
export const rowPanels: readonly Panel[] = [
  (shell) => html`<export-menu .shell=${shell}></export-menu>`,
  (shell) => html`<code-dialog .shell=${shell}></code-dialog>`,
  linkActions,
];

/** Panels beside the rows, in one parent element with the viewer. */
export const sidePanels: readonly Panel[] = [
  (shell) => {
    const { subject, chart } = shell.address;
    const isOnServer = subject !== undefined && !("file" in subject);
    return html`<chart-drawer
      ?hidden=${!isOnServer}
      .shown=${isOnServer ? subject : undefined}
      .state=${chart}
      @chart-state=${({ detail }: CustomEvent<string | null>) => shell.setChart(detail ?? undefined)}
    ></chart-drawer>`;
  },
];

/** Panels over the whole page. They render nothing until they are needed. */
export const overlayPanels: readonly Panel[] = [
  (shell) => html`<file-tray .shell=${shell}></file-tray>`,
  ({ viewer }) => keyed(viewer, html`<server-watch .viewer=${viewer}></server-watch>`),
  ({ viewer }) => html`<print-sheet .viewer=${viewer}></print-sheet>`,
  () => html`<sign-in></sign-in>`,
];
