import type { ColonnadeViewer } from "colonnade";
import type { Address, Subject } from "../address/address.js";

/** What a panel can read of the page and request of it. */
export interface Shell {
  /** What is shown and how, as the browser's address says. */
  readonly address: Address;
  /** Shows the rows of the address; rows that are not shown are in other viewers. */
  readonly viewer: ColonnadeViewer;
  /** Shows a table or a file, or runs a statement. */
  go(subject: Subject): void;
  /** Goes to an address without loading the page again. */
  open(address: Address): void;
  /** Puts the charts' state into the address; undefined for none. */
  setChart(chart: string | undefined): void;
  /** Reads the list of tables again. */
  reloadTables(): Promise<void>;
}

/** A panel of the page: returns what to render at each update of the page. */
export type Panel = (shell: Shell) => unknown;
