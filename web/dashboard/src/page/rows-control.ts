import type { ColonnadeViewer } from "colonnade";
import {
  isSameArrangement,
  type Place,
  type RowsState,
  rowsStateOf,
  type Subject,
} from "../address/address.js";
import { queryRequest, rowsUrl } from "../catalog/catalog.js";
import { localFile } from "../files/local-files.js";
import { keptRequest } from "../queries/kept-result.js";
import { listen } from "../shell/viewer-events.js";

/** Has the viewer show what the address says, and says how the viewer shows it. */
export class RowsControl {
  readonly #viewer: ColonnadeViewer;
  /** What the viewer was given; undefined for nothing. */
  #opened: Subject;
  #isShown = false;
  /** What was asked for, until it is shown or the viewer tells of another state: it was refused. */
  #asked: RowsState | undefined;
  /** The row that was asked for, until the viewer has been at one. */
  #awaitedRow = 0;

  /**
   * @param onState told how rows are shown, whenever that is another; and whether it is so because
   *   what was asked for cannot be shown
   */
  constructor(
    viewer: ColonnadeViewer,
    onState: (change: { state: RowsState }, isRefusal: boolean) => void,
  ) {
    this.#viewer = viewer;
    const tell = () => {
      const { table } = viewer;
      if (table === undefined || !this.#isShown) return;
      const state = rowsStateOf(viewer.state, distinctNames(table.schema.fields));
      const isRefusal = this.#asked !== undefined && !isSameArrangement(state, this.#asked);
      this.#asked = undefined;
      if (state.row > 0) this.#awaitedRow = 0;
      onState({ state: { ...state, row: this.#awaitedRow || state.row } }, isRefusal);
    };
    const tellApplied = () => {
      this.#asked = undefined;
      tell();
    };
    listen(viewer, "colonnade-state", tell);
    listen(viewer, "colonnade-sort", tellApplied);
    listen(viewer, "colonnade-filter", tellApplied);
  }

  /** Whether the rows are what is looked at. */
  get isShown(): boolean {
    return this.#isShown;
  }

  /**
   * Shows the rows of a place where they are looked at.
   *
   * @param isAgain whether to ask for them anew even if they are those that are shown
   */
  show({ subject, view, state }: Place, isAgain: boolean): void {
    const source = sourceOf(subject);
    this.#isShown = source !== null && view === "rows";
    if (isAgain || source === null) this.#opened = undefined;
    if (this.#opened === undefined) this.#viewer.source = this.#isShown ? source : null;
    if (!this.#isShown) return;
    this.#opened = subject;
    this.#asked = state;
    this.#awaitedRow = state.row;
    this.#viewer.state = state;
  }
}

/** A new request each time, so that the same statement runs again. */
function sourceOf(subject: Subject): Request | File | null {
  if (subject === undefined) return null;
  if ("table" in subject) return new Request(rowsUrl(subject.table));
  if ("file" in subject) return localFile(subject.file) ?? null;
  if (subject.sql.trim() === "") return null;
  return keptRequest(subject.sql) ?? queryRequest(subject.sql);
}

/** The names by which the viewer tells columns apart: a second `a` is `a (2)`. */
function distinctNames(fields: readonly { name: string }[]): string[] {
  const taken = new Set<string>();
  return fields.map((field) => {
    let { name } = field;
    for (let count = 2; taken.has(name); count++) name = `${field.name} (${count})`;
    taken.add(name);
    return name;
  });
}
