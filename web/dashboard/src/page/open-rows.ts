import type { ColonnadeViewer } from "colonnade";
import type { RowsState, Subject } from "../address/address.js";
import { isShowable, RowsControl } from "./rows-control.js";

/** How many results of statements stay in the page. */
const MAX_KEPT = 5;
/** The size of their rows together, with those that are shown. */
const MAX_KEPT_BYTES = 2 * 1024 ** 3;

/** What the page does with the rows that it holds. */
export interface OpenRowsHost {
  /** The state of the shown rows changed; `isRefusal` if the viewer refused the requested one. */
  onState(change: { state: RowsState }, isRefusal: boolean): void;
  /** A viewer was made for the rows of a statement. */
  onResult(viewer: ColonnadeViewer, sql: string): void;
}

/**
 * The rows that the page holds, each in a viewer of its own: those of the open table or file, and those of the
 * statements that were run last, so that a return to a statement does not run it again.
 */
export class OpenRows {
  readonly #host: OpenRowsHost;
  readonly #open: RowsControl;
  /** By their statements; the one that was shown last is the last. */
  readonly #results = new Map<string, RowsControl>();
  #shown: RowsControl;
  /** Holds the viewers that are not shown, where nothing of the page finds them. */
  readonly element = document.createElement("div");
  readonly #aside = this.element.attachShadow({ mode: "closed" });

  constructor(host: OpenRowsHost) {
    this.#host = host;
    this.element.hidden = true;
    this.#open = this.#make();
    this.#shown = this.#open;
  }

  /** The rows of the selected subject. */
  get shown(): RowsControl {
    return this.#shown;
  }

  /** All viewers: the shown one, and those that keep rows. */
  get viewers(): ColonnadeViewer[] {
    return [this.#open, ...this.#results.values()].map(({ viewer }) => viewer);
  }

  /**
   * Puts the viewers that are not shown aside. They keep their rows as long as they are in the page. Those of
   * statements that were not shown for long are closed.
   */
  putAside(): void {
    this.#closeOldest();
    const aside = this.viewers.filter((viewer) => viewer !== this.#shown.viewer);
    for (const viewer of aside) {
      if (viewer.getRootNode() !== this.#aside) this.#aside.append(viewer);
    }
    for (const viewer of [...this.#aside.children]) {
      if (!aside.some((each) => each === viewer)) viewer.remove();
    }
  }

  /** Selects the rows of a subject. */
  select(subject: Subject): RowsControl {
    const isResult = subject && "sql" in subject && isShowable(subject);
    const rows = isResult ? this.#resultOf(subject.sql) : this.#open;
    if (rows !== this.#shown) this.#shown.leave();
    this.#shown = rows;
    return rows;
  }

  /** Closes the rows of a statement. */
  close(sql: string): void {
    if (this.#results.get(sql) !== this.#shown) this.#results.delete(sql);
  }

  #resultOf(sql: string): RowsControl {
    const known = this.#results.get(sql);
    const rows = known ?? this.#make();
    this.#results.delete(sql);
    this.#results.set(sql, rows);
    if (known === undefined) this.#host.onResult(rows.viewer, sql);
    return rows;
  }

  #make(): RowsControl {
    return new RowsControl(document.createElement("colonnade-viewer"), (change, isRefusal) =>
      this.#host.onState(change, isRefusal),
    );
  }

  #closeOldest(): void {
    let [numKept, numBytes] = [0, 0];
    for (const [sql, rows] of [...this.#results].reverse()) {
      numKept += Number(rows.isOpen);
      numBytes += rows.viewer.table?.progress.bytes ?? 0;
      const isTooMuch = numKept > MAX_KEPT || numBytes > MAX_KEPT_BYTES;
      if (rows === this.#shown || (rows.isOpen && !isTooMuch)) continue;
      this.#results.delete(sql);
      // The server keeps the result whose request was asked for, so that a return to the statement finds it there.
      rows.viewer.shownRequest();
    }
  }
}
