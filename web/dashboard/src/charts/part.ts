import { html } from "lit";
import type { ChartSource } from "./sql.js";

/** What the charts beside the rows want of the page. */
export interface ChartShell {
  /** What is looked at, and which charts of it are open. */
  readonly place: { subject: ChartSource | undefined; chart: string | undefined };
  /** Has the address hold the charts; undefined for none. */
  keepChart(chart: string | undefined): void;
}

/** The place for charts; it stands beside the viewer, in one parent. */
export function chartPart(shell: ChartShell): unknown {
  return html`<chart-drawer
    .shown=${shell.place.subject}
    .state=${shell.place.chart}
    @chart-state=${({ detail }: CustomEvent<string | null>) => shell.keepChart(detail ?? undefined)}
  ></chart-drawer>`;
}
