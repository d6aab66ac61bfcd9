import { html } from "lit";
import type { Part } from "../shell/shell.js";

/** The place for charts of what the server has; it stands beside the viewer, in one parent. */
export const charts: Part = (shell) => {
  const { subject, chart } = shell.place;
  const isServers = subject !== undefined && !("file" in subject);
  return html`<chart-drawer
    ?hidden=${!isServers}
    .shown=${isServers ? subject : undefined}
    .state=${chart}
    @chart-state=${({ detail }: CustomEvent<string | null>) => shell.keepChart(detail ?? undefined)}
  ></chart-drawer>`;
};
