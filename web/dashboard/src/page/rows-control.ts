import { type ColonnadeViewer, distinctNames } from "colonnade";
import {
  type Address,
  isSameArrangement,
  type RowsState,
  rowsStateOf,
  type Subject,
} from "../address/address.js";
import { localFile } from "../files/local-files.js";
import { reusedResultRequest } from "../queries/reused-result.js";
import { queryRequest, rowsUrl } from "../server/requests.js";
import { listen } from "../shell/viewer-events.js";

/** Makes the viewer show the rows of the address, and reports how the viewer shows them. */
export class RowsControl {
  readonly #viewer: ColonnadeViewer;
  /** The subject that the viewer has; undefined for none. */
  #opened: Subject;
  #isShown = false;
  /** The requested state, until the viewer shows it, or reports another one because it refused it. */
  #requested: RowsState | undefined;
  /** The requested row, until the viewer has scrolled to one. */
  #awaitedRow = 0;

  /**
   * @param onState called with the state of the rows at each change; `isRefusal` if the viewer
   *   refused the requested state
   */
  constructor(
    viewer: ColonnadeViewer,
    onState: (change: { state: RowsState }, isRefusal: boolean) => void,
  ) {
    this.#viewer = viewer;
    const report = () => {
      const { table } = viewer;
      if (table === undefined || !this.#isShown) return;
      const fieldNames = table.schema.fields.map(({ name }) => name);
      const state = rowsStateOf(viewer.state, distinctNames(fieldNames));
      const isRefusal = this.#requested !== undefined && !isSameArrangement(state, this.#requested);
      this.#requested = undefined;
      if (state.row > 0) this.#awaitedRow = 0;
      onState({ state: { ...state, row: this.#awaitedRow || state.row } }, isRefusal);
    };
    const reportApplied = () => {
      this.#requested = undefined;
      report();
    };
    listen(viewer, "colonnade-state", report);
    listen(viewer, "colonnade-sort", reportApplied);
    listen(viewer, "colonnade-filter", reportApplied);
  }

  /** Whether the rows are shown, and not the details or the plan. */
  get isShown(): boolean {
    return this.#isShown;
  }

  /**
   * Shows the rows of an address if its view is the rows.
   *
   * @param isReload whether to request the rows again even if they are the shown ones
   */
  show({ subject, view, state }: Address, isReload: boolean): void {
    const source = sourceOf(subject);
    this.#isShown = source !== null && view === "rows";
    if (isReload || source === null) this.#opened = undefined;
    if (this.#opened === undefined) this.#viewer.source = this.#isShown ? source : null;
    if (!this.#isShown) return;
    this.#opened = subject;
    this.#requested = state;
    this.#awaitedRow = state.row;
    this.#viewer.state = state;
  }
}

/** Returns a new request each time, so that the same statement runs again. */
function sourceOf(subject: Subject): Request | File | null {
  if (subject === undefined) return null;
  if ("table" in subject) return new Request(rowsUrl(subject.table));
  if ("file" in subject) return localFile(subject.file) ?? null;
  if (subject.sql.trim() === "") return null;
  return reusedResultRequest(subject.sql) ?? queryRequest(subject.sql);
}
