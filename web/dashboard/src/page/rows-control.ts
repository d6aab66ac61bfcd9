import { type ColonnadeViewer, distinctNames } from "colonnade";
import {
  type Address,
  isSameArrangement,
  isSameSubject,
  type RowsState,
  rowsStateOf,
  type Subject,
} from "../address/address.js";
import { localFile } from "../files/local-files.js";
import { reusedResultRequest } from "../queries/reused-result.js";
import { queryRequest, rowsUrl } from "../server/requests.js";
import { listen } from "../shell/viewer-events.js";

/** Makes a viewer show the rows of the address, and reports how the viewer shows them. */
export class RowsControl {
  readonly viewer: ColonnadeViewer;
  /** The subject whose rows the viewer has; undefined for none. */
  #opened: Subject;
  #isShown = false;
  /** The requested state, until the viewer shows it, or reports another one because it refused it. */
  #requested: RowsState | undefined;
  /** The requested row, until the viewer has scrolled to one. */
  #awaitedRow = 0;

  /**
   * @param onState called with the state of the shown rows at each change; `isRefusal` if the viewer
   *   refused the requested state
   */
  constructor(
    viewer: ColonnadeViewer,
    onState: (change: { state: RowsState }, isRefusal: boolean) => void,
  ) {
    this.viewer = viewer;
    const report = () => {
      if (this.#isShown && viewer.state.row > 0) this.#awaitedRow = 0;
      const { state } = this;
      if (state === undefined) return;
      const isRefusal = this.#requested !== undefined && !isSameArrangement(state, this.#requested);
      this.#requested = undefined;
      onState({ state }, isRefusal);
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

  /** How the rows are shown now; undefined if they are not. */
  get state(): RowsState | undefined {
    const { table, state } = this.viewer;
    if (table === undefined || !this.#isShown) return undefined;
    const shown = rowsStateOf(state, distinctNames(table.schema.fields.map(({ name }) => name)));
    return { ...shown, row: this.#awaitedRow || shown.row };
  }

  /** Whether the viewer has rows, or has requested them. */
  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Whether the viewer has the rows of a subject, or has requested them. */
  has(subject: Subject): boolean {
    return this.#opened !== undefined && isSameSubject(subject, this.#opened);
  }

  /**
   * Shows the rows of an address if its view is the rows. Those of a statement are requested only by `isReload`,
   * because that runs it. Returns whether rows were requested.
   *
   * @param isReload whether to request the rows again even if they are the shown ones
   */
  show({ subject, view, state }: Address, isReload: boolean): boolean {
    const hasRows = isShowable(subject);
    const isRows = hasRows && view === "rows";
    const isOther = !this.has(subject);
    const isRequested = isRows && (isReload || (isOther && !isStatement(subject)));
    if (isRequested) {
      this.#opened = subject;
      this.viewer.source = sourceOf(subject);
    } else if (subject === undefined || (hasRows && isOther)) {
      this.#opened = undefined;
      this.viewer.source = null;
    }
    this.#isShown = isRows && this.has(subject);
    if (!this.#isShown) return false;
    this.#requested = state;
    this.#awaitedRow = state.row;
    this.viewer.state = state;
    return isRequested;
  }

  /** Something else is shown; the viewer keeps its rows. */
  leave(): void {
    this.#isShown = false;
  }
}

/** Whether a subject has rows: a table, a statement that was run, or a file that is open. */
export function isShowable(subject: Subject): boolean {
  if (subject === undefined) return false;
  if ("file" in subject) return localFile(subject.file) !== undefined;
  return "table" in subject || subject.sql.trim() !== "";
}

/** Whether a subject is the rows of a statement. */
export function isStatement(subject: Subject): boolean {
  return subject !== undefined && "sql" in subject;
}

/** Returns a new request each time, so that the same statement runs again. */
function sourceOf(subject: Subject): Request | File | null {
  if (subject === undefined) return null;
  if ("table" in subject) return new Request(rowsUrl(subject.table));
  if ("file" in subject) return localFile(subject.file) ?? null;
  return reusedResultRequest(subject.sql) ?? queryRequest(subject.sql);
}
