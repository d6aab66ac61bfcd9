import type { ColonnadeViewer } from "colonnade";
import type { Place, Subject } from "../address/address.js";
import type { CatalogTable } from "../catalog/catalog.js";
import type { Theme } from "./theme.js";

/** What a part of the page may know of the whole, and ask of it. */
export interface Shell {
  /** Undefined while they are being read. */
  readonly tables: readonly CatalogTable[] | undefined;
  /** What is looked at, and how; as the address says it. */
  readonly place: Place;
  /** Shows the rows; the same element as long as the page lives. */
  readonly viewer: ColonnadeViewer;
  readonly theme: Theme;
  /** Shows a table, or runs a statement. */
  go(subject: Subject): void;
  /** Has the address hold the chart's state; undefined for none. */
  keepChart(chart: string | undefined): void;
  /** Reads the list of tables again. */
  reloadTables(): Promise<void>;
  /** The place where it is said that something was done, and said once to those who hear it. */
  say(message: string): void;
  /** Draws the page anew. */
  requestUpdate(): void;
}

/** A part of the page: what it renders at each update of the shell. */
export type Part = (shell: Shell) => unknown;
