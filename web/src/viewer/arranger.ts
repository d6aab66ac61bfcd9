import type { ElementOptions } from "../api/open.js";
import type { View } from "../api/row-reader.js";
import type { Table } from "../api/table.js";
import { arrangedRequest } from "../http/arranged-request.js";
import {
  type Arrangement,
  isSameArrangement,
  isUnarranged,
  UNARRANGED,
} from "../model/arrangement.js";
import { ColonnadeError } from "../model/errors.js";
import type { Predicate } from "../model/predicate.js";

/** Rows to show: a table, or a view of it. */
export interface ArrangedRows {
  table: Table;
  view: View | undefined;
}

/** Rows with their arrangement. */
interface Arranged {
  rows: ArrangedRows;
  arrangement: Arrangement;
}

/** The viewer of an arranger. */
export interface ArrangerHost {
  /** Opens the viewer's own source again (undefined), or another request in the same way, or rows of a file. */
  open(request: Request | undefined, signal: AbortSignal, rows: ElementOptions): Promise<Table>;
  /** Replaces the rows that are shown. */
  show(rows: ArrangedRows): void;
  /** Work began, progressed or ended, so that the viewer has to redraw. */
  onChange(): void;
}

/**
 * Filters and sorts the rows of a table: in the worker if no more will arrive, otherwise on the server.
 * The shown rows stay until the first of the new ones have arrived.
 */
export class Arranger {
  readonly #host: ArrangerHost;
  /** The table as it was opened; its rows are released while rows arranged by the server are shown. */
  #base: Table | undefined;
  #isBaseOwned = false;
  #isParked = false;
  #shown: ArrangedRows | undefined;
  #applied: Arrangement = UNARRANGED;
  #wanted: Arrangement = UNARRANGED;
  /** What was shown before rows that do not have all their places yet. */
  #before: Arranged | undefined;
  #work: AbortController | undefined;
  #settled: Promise<void> = Promise.resolve();
  #fraction: number | undefined;
  #error: ColonnadeError | undefined;

  constructor(host: ArrangerHost) {
    this.#host = host;
  }

  /** The requested arrangement: it is shown, or will be when the work is done. */
  get arrangement(): Arrangement {
    return this.#wanted;
  }

  /** The shown arrangement. */
  get applied(): Arrangement {
    return this.#applied;
  }

  /** The shown rows. */
  get shown(): ArrangedRows | undefined {
    return this.#shown;
  }

  /** Whether requested rows are not shown yet, or do not have all their places. */
  get isWorking(): boolean {
    return this.#work !== undefined;
  }

  /** Whether the requested arrangement is shown. */
  get isShown(): boolean {
    return this.#wanted === this.#applied;
  }

  /** Resolves when the shown rows have their places, or are those shown before, because the work was cancelled or failed. */
  get settled(): Promise<void> {
    return this.#settled;
  }

  /** The fraction of the work that is done, from 0 to 1, if known. */
  get fraction(): number | undefined {
    return this.#fraction;
  }

  /** The error of the last requested arrangement, if it could not be shown. */
  get error(): ColonnadeError | undefined {
    return this.#error;
  }

  /** Whether the viewer opened the table, and therefore closes it. */
  get isOwned(): boolean {
    return this.#isBaseOwned;
  }

  /** Takes a table that was opened; its rows are shown unarranged. */
  begin(table: Table, isOwned: boolean): void {
    this.#base = table;
    this.#isBaseOwned = isOwned;
    this.#isParked = false;
    this.#shown = { table, view: undefined };
  }

  /**
   * The request for the shown rows, with these columns or all. From then on, closing the table does not
   * delete the result that the request names.
   */
  shownRequest(columns: readonly string[] | undefined): Request | undefined {
    const source = this.#base?.request;
    if (source === undefined) return undefined;
    this.#base?.keep();
    return arrangedRequest(source, this.#applied, columns);
  }

  /**
   * The rows that pass a filter, in any order, without showing them. `isOpened`: the table was opened for them, with
   * little memory. Call `release` when they are no longer needed.
   */
  async rowsFiltered(filter: Predicate | null, signal: AbortSignal) {
    const [base, shown, sort] = [this.#base, this.#shown, this.#applied.sort];
    const isShown = isSameArrangement({ sort, filter }, this.#applied);
    const options = { memoryBytes: 2 ** 20, firstCells: undefined };
    const rows =
      shown && isShown ? shown : await this.#make({ sort: [], filter }, true, signal, options);
    const isOpened = rows.table !== base && !isShown;
    const release = () => {
      if (rows !== shown) rows.view?.close();
      if (isOpened) rows.table.close();
    };
    return { rows, isOpened, release };
  }

  /** Stops the work and releases the tables and views it opened. */
  end(): void {
    this.#stop();
    this.#error = undefined;
    this.#leave(this.#shown);
    this.#leave(this.#before?.rows);
    this.#before = undefined;
    if (this.#isBaseOwned) this.#base?.close();
    this.#base = undefined;
    this.#isBaseOwned = false;
    this.#shown = undefined;
    this.#applied = UNARRANGED;
    this.#wanted = UNARRANGED;
  }

  /** Stops the work; the rows that have their places stay, or are shown again. */
  cancel(): void {
    this.#stop();
    this.#goBack();
    this.#host.onChange();
  }

  /** Clears the error. */
  dismiss(): void {
    this.#error = undefined;
    this.#host.onChange();
  }

  /**
   * Shows the rows of an arrangement. Resolves once the first ones are shown, or when that failed or was replaced by
   * another call.
   *
   * @param isHere whether the tab may do the work
   */
  async arrange(wanted: Arrangement, isHere = true): Promise<void> {
    const isSame = isSameArrangement(wanted, this.#applied);
    if (isSame && this.isShown && this.isWorking) return;
    this.#stop();
    this.#error = undefined;
    if (isSameArrangement(wanted, this.#before?.arrangement ?? this.#applied)) {
      this.#goBack();
      this.#host.onChange();
      return;
    }
    this.#wanted = wanted;
    const work = new AbortController();
    this.#work = work;
    this.#host.onChange();
    try {
      const rows = await this.#make(wanted, isHere, work.signal);
      if (work !== this.#work) {
        this.#leave(rows);
        return;
      }
      this.#swap(rows, wanted);
    } catch (thrown) {
      if (work === this.#work) this.#fail(thrown);
      return;
    }
    this.#settled = this.#settle(work);
    this.#host.onChange();
  }

  /** Waits until the rows just shown have their places. */
  async #settle(work: AbortController): Promise<void> {
    try {
      const view = this.#shown?.view;
      if (view?.isDone === false) await view.done;
      if (work !== this.#work) return;
      this.#leave(this.#before?.rows);
      this.#before = undefined;
      this.#work = undefined;
      this.#fraction = undefined;
      this.#host.onChange();
    } catch (thrown) {
      if (work !== this.#work) return;
      const wanted = this.#wanted;
      this.#fail(thrown);
      if (this.#base !== undefined && this.#canServerArrange(thrown, this.#base)) {
        await this.arrange(wanted, false);
      }
    }
  }

  #fail(thrown: unknown): void {
    this.#work = undefined;
    this.#fraction = undefined;
    this.#error = ColonnadeError.from(thrown, "cannot_arrange");
    this.#goBack();
    this.#host.onChange();
  }

  /** Shows the rows again that were shown before those without places. */
  #goBack(): void {
    const before = this.#before;
    this.#before = undefined;
    this.#wanted = before?.arrangement ?? this.#applied;
    if (before !== undefined) this.#swap(before.rows, before.arrangement);
  }

  /** After a failure, more rows arrive: arranges all of them as those were that had arrived before. */
  arrangeArriving(): void {
    const wanted = this.#wanted;
    if (this.#shown?.view === undefined) return;
    this.unarrange();
    void this.arrange(wanted);
  }

  /** Shows all rows in their own order, and gives back what was made to arrange them. */
  unarrange(): void {
    const table = this.#base;
    if (table === undefined || isUnarranged(this.#wanted)) return;
    this.#stop();
    this.#goBack();
    this.#wanted = UNARRANGED;
    this.#swap({ table, view: undefined }, UNARRANGED);
  }

  async #make(
    wanted: Arrangement,
    mayBeHere: boolean,
    signal: AbortSignal,
    options?: ElementOptions,
  ): Promise<ArrangedRows> {
    const base = this.#base;
    if (base === undefined) throw new ColonnadeError("closed", "There is no table.");
    const isHere = !this.#isParked;
    const { file } = base;
    const prepare = file && (() => file.arranged(wanted));
    if (isUnarranged(wanted)) {
      const table = isHere ? base : await this.#open(undefined, signal, { ...options, prepare });
      return { table, view: undefined };
    }
    const request = base.request && arrangedRequest(base.request, wanted);
    if (isHere && mayBeHere && base.state !== "streaming" && base.state !== "windowed") {
      try {
        return { table: base, view: await this.#view(base, wanted, signal) };
      } catch (thrown) {
        if (!this.#canServerArrange(thrown, base)) throw thrown;
      }
    }
    if (!request && !file) throw (await import("./notices.js")).notComplete(base);
    const numRows = wanted.filter === null ? wholeRows(base) : undefined;
    const rows = { ...options, numRows, prepare, isArranged: true };
    return { table: await this.#open(request, signal, rows), view: undefined };
  }

  /** Whether the server can do what there is too little memory for here. */
  #canServerArrange(thrown: unknown, { state, request }: Table): boolean {
    const { code } = ColonnadeError.from(thrown, "cannot_arrange");
    return code === "out_of_memory" && state === "complete" && request !== undefined;
  }

  /** Opens a table and waits for its first rows. */
  async #open(
    request: Request | undefined,
    signal: AbortSignal,
    rows: ElementOptions,
  ): Promise<Table> {
    const table = await this.#host.open(request, signal, rows);
    await firstRows(table, signal);
    if (table.state !== "failed" || table.numRows > 0) return table;
    const { error } = table;
    table.close();
    throw error ?? new ColonnadeError("cannot_arrange", "No rows arrived, and no error.");
  }

  async #view(base: Table, { sort, filter }: Arrangement, signal: AbortSignal): Promise<View> {
    const steps = Number(filter !== null) + Number(sort.length > 0);
    let step = 0;
    const onProgress = (fraction: number) => {
      if (signal.aborted) return;
      this.#fraction = (step + fraction) / steps;
      this.#host.onChange();
    };
    if (filter === null) return base.sort(sort, { signal, onProgress });
    const filtered = await base.filter(filter, { signal, onProgress });
    if (sort.length === 0) return filtered;
    step = 1;
    try {
      return await filtered.sort(sort, { signal, onProgress });
    } finally {
      filtered.close();
    }
  }

  #swap(rows: ArrangedRows, applied: Arrangement): void {
    const before = this.#shown;
    const isLeft = rows.view?.isDone !== false || this.#before !== undefined;
    if (before !== undefined && !isLeft)
      this.#before = { rows: before, arrangement: this.#applied };
    this.#applied = applied;
    this.#shown = rows;
    if (rows.table !== this.#base) {
      if (isUnarranged(applied)) {
        if (this.#isBaseOwned) this.#base?.close();
        this.#base = rows.table;
        this.#isBaseOwned = true;
        this.#isParked = false;
      } else if (this.#isBaseOwned && !this.#isParked) {
        // The server may need its result for other arrangements, but its rows would only take memory.
        this.#base?.park();
        this.#isParked = true;
      }
    }
    this.#host.show(rows);
    if (isLeft) this.#leave(before);
  }

  /** Releases rows that are no longer shown, except those of the base table. */
  #leave(rows: ArrangedRows | undefined): void {
    rows?.view?.close();
    if (rows !== undefined && rows.table !== this.#base) rows.table.close();
  }

  #stop(): void {
    const work = this.#work;
    this.#work = undefined;
    this.#fraction = undefined;
    work?.abort();
  }
}

/** Resolves once a table has rows, or will get no more for now. */
async function firstRows(table: Table, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = () => {
      if (table.numRows > 0 || table.state !== "streaming" || table.paused) resolve();
    };
    table.addEventListener("progress", look, { signal });
    signal.addEventListener("abort", () => resolve());
    look();
  });
}

/** The number of rows of a table, if it is final. */
function wholeRows({ state, progress }: Table): number | undefined {
  return state === "complete" || state === "windowed" ? progress.totalRows : undefined;
}
