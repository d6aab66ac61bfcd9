import { html, nothing, type PropertyValues } from "lit";
import { type ElementOptions, openFor } from "../api/open.js";
import type { View } from "../api/row-reader.js";
import { canOpenAgain, type TableSource } from "../api/source.js";
import type { Table, TableProgress } from "../api/table.js";
import { TILE_ROWS } from "../grid/cache.js";
import { Grid } from "../grid/grid.js";
import { headerStyles } from "../grid/header-styles.js";
import { gridStyles } from "../grid/styles.js";
import { UNARRANGED } from "../model/arrangement.js";
import { ColonnadeError, cancelledError } from "../model/errors.js";
import { missingFeatures } from "../model/needs.js";
import { errorAlert, progressBar } from "./alerts.js";
import { Announcer } from "./announcer.js";
import { type ArrangedRows, Arranger } from "./arranger.js";
import { ViewerAttributes } from "./attributes.js";
import type { CopyOptions, ShownRows } from "./clipboard.js";
import { ColumnsControl } from "./columns-control.js";
import { followComputation } from "./computation.js";
import type { ViewerEventMap } from "./events.js";
import { goToRowForm } from "./go-to-row.js";
import { message } from "./message.js";
import { PageLife } from "./page-life.js";
import { Ready } from "./ready.js";
import { RowReacher } from "./row-reacher.js";
import type { RowsFileOptions } from "./rows-file.js";
import type { SelectedValues, SelectedValuesOptions, ViewerSelection } from "./selected.js";
import { headerMarks } from "./sorting.js";
import {
  checkedState,
  mergedState,
  StateChange,
  type ViewerState,
  type ViewerStateInput,
} from "./state.js";
import {
  fraction,
  isGone,
  isRunningPhase,
  mayGrow,
  phaseOf,
  UNKNOWN,
  type ViewerPhase,
} from "./status.js";
import { statusLine } from "./status-line.js";
import { viewerStyles } from "./styles.js";
import { Summaries } from "./summaries.js";
import { Tools } from "./tools.js";

const ROW_HEIGHTS_PX: Record<string, number> = { compact: 24, normal: 30, comfortable: 38 };
/** Cells show at most about 70 characters; the others are for the hover text. */
const MAX_CELL_CHARS = 300;
/** More cells than the first frame shows, and those that give the columns their widths. */
const FIRST_CELLS = { numRows: TILE_ROWS, numColumns: 64, maxChars: MAX_CELL_CHARS };

/**
 * `<colonnade-viewer>`: shows a table while it arrives.
 *
 * @attr src - URL of an Arrow IPC stream or file; a change opens another table
 * @attr theme - `auto` (default), `light` or `dark`
 * @attr density - `compact`, `normal` (default) or `comfortable`
 * @attr row - first row to show, counted from 0
 * @attr total-rows - expected number of rows, if known; used only for progress
 * @attr memory - memory budget of the rows, e.g. `128MiB`; default `1GiB`; in a larger table, rows load on
 *   demand or reading pauses
 * @attr credentials - like `credentials` of `fetch`; default `same-origin`
 * @attr worker-src - URL of `worker.js`; default: the folder of the package's script
 * @attr wasm-src - URL of `colonnade.wasm`; default: the folder of `worker.js`
 * @attr reader-src - URL of `reader.js`, which reads Parquet files; default: the folder of the package's script
 * @attr field-columns - offers nested values of the inspector as columns; the page adds them at `colonnade-field`
 *
 * @fires colonnade-schema - the columns are known
 * @fires colonnade-progress - rows arrived, or the state changed
 * @fires colonnade-complete - all rows arrived
 * @fires colonnade-error - the stream failed; rows that arrived stay readable
 * @fires colonnade-sort - the sort changed, and its first rows are shown; again if it fails or is cancelled later
 * @fires colonnade-filter - the filter changed, and its rows are shown
 * @fires colonnade-state - columns, order, filter or the first visible row changed
 * @fires colonnade-selection - the selection changed; null if nothing is selected
 * @fires colonnade-activate - a cell was activated by a double click or Enter; cancelable, else the inspector opens
 * @fires colonnade-field - a nested value is to become a column, see `field-columns`
 *
 * @csspart grid - header and rows
 * @csspart header - the row of column names
 * @csspart row - a row
 * @csspart cell - a cell
 * @csspart toolbar - the bar below the rows
 * @csspart status - the status line in the toolbar
 * @csspart cancel - the button that stops the rows
 * @csspart find - the find bar
 * @csspart inspector - the dialog that shows a whole cell
 * @csspart selection - the size and totals of the selection
 */
export class ColonnadeViewer extends ViewerAttributes {
  static override styles = [viewerStyles, gridStyles, headerStyles];
  #computation = UNKNOWN;
  readonly #columns: ColumnsControl = new ColumnsControl({
    grid: () => this.#grid,
    summaries: () => this.#summaries,
    arranger: () => this.#arranger,
    arrange: (change) => {
      this.state = change;
    },
    onColumns: (areOthers) => {
      if (areOthers) this.#tools.reset();
      this.#onArranging();
      this.#reportState();
    },
    load: (loading) => this.#tools.load(loading),
    draw: async () => {
      this.requestUpdate();
      await this.updateComplete;
      return this.renderRoot;
    },
  });
  readonly #grid: Grid = new Grid({
    onCopy: () => void this.copy().catch(() => undefined),
    onOpen: (position) =>
      void this.#tools.activate(position, (activation) =>
        this.#emit("colonnade-activate", activation),
      ),
    onMenu: (position, event) => void this.#tools.menu(position, event),
    onSelect: () => {
      this.#tools.bar.follow();
      this.#emit("colonnade-selection", this.selection);
    },
    onFailure: (error) => {
      this.#unread = error === undefined ? undefined : ColonnadeError.from(error, "worker_failed");
      this.requestUpdate();
    },
    header: this.#columns,
    onRest: () => this.#reportState(),
  });
  readonly #arranger = new Arranger({
    open: (request, signal, rows) => this.#open(request ?? this.#given, signal, rows),
    show: (rows) => this.#showRows(rows),
    onChange: () => this.#onArranging(),
  });
  readonly #tools = new Tools(this, this.#grid, () => this.#shown);
  readonly #summaries = new Summaries(this, this.#grid, this.#arranger, (loading) =>
    this.#tools.load(loading),
  );
  #table: Table | undefined;
  #view: View | undefined;
  #stateToShow: ViewerStateInput = {};
  #stateChange = new StateChange();
  /** The arrangement of which the page knows. */
  #reported = UNARRANGED;
  /** The view of the rows when the element left the page. */
  #left: ViewerStateInput | undefined;
  /** Whether the element has come back to a page. */
  #isBack = false;
  /** Whether the source was changed, and not opened yet. */
  #isSourceNew = false;
  /** The source whose worker was lost. */
  #lost: TableSource | null = null;
  #listening: AbortController | undefined;
  #phase: ViewerPhase = "idle";
  #error: ColonnadeError | undefined;
  /** The error of visible rows that could not be read. */
  #unread: ColonnadeError | undefined;
  #abort: AbortController | undefined;
  #startMs = 0;
  #notices: typeof import("./notices.js") | undefined;
  /** The source of which all rows are read, although they could load on demand. */
  #whole: TableSource | null = null;
  #ticker: ReturnType<typeof setInterval> | undefined;
  readonly #announcer = new Announcer(() => this.requestUpdate());
  readonly #ready = new Ready();
  readonly #reacher = new RowReacher();
  readonly #pageLife = new PageLife({
    isRunning: () => isRunningPhase(this.#phase) || this.#table?.state === "windowed",
    onReturn: () => this.retry(),
    onWake: () => {
      if (this.#table?.canResume && this.#error?.code === "network_error") this.retry();
    },
  });

  constructor() {
    super();
    this.addEventListener("keydown", (event) => this.#tools.onKey(event), { capture: true });
  }

  /** The shown table. A table that the page sets is shown, and the page has to close it. */
  get table(): Table | undefined {
    return this.#table;
  }
  set table(table: Table | undefined) {
    this.#reset();
    if (table === undefined) this.requestUpdate();
    else this.#show(table, false);
  }

  /**
   * The rows as they are shown, in their order; undefined before there are any. Selections, `row` and
   * `colonnade-activate` count these rows. It is closed when other rows are shown.
   */
  get view(): View | undefined {
    return this.#view ?? this.#table?.rows;
  }

  /**
   * Resolves with the table of the latest source once its schema is known; rejects if that table cannot be opened.
   * Waits until there is a source.
   */
  get ready(): Promise<Table> {
    return this.#ready.after(this.updateComplete);
  }

  /** The view as JSON; setting all or some of it restores that view. */
  override get state(): ViewerState {
    const shown = {
      ...this.#arranger.arrangement,
      columns: this.#columns.state,
      row: Math.floor(this.#grid.topRow),
      summaries: this.#summaries.isShown,
    };
    return mergedState(shown, mergedState(this.#left, this.#stateToShow)) as ViewerState;
  }
  override set state(state: ViewerStateInput) {
    this.#stateToShow = mergedState(this.#stateToShow, checkedState(state));
    this.requestUpdate();
  }

  /** The selected cells, by numbers of rows of `view` and of `columns` from 0; null if there are none. */
  get selection(): ViewerSelection | null {
    return this.#tools.selection;
  }
  set selection(selection: ViewerSelection | null) {
    this.#tools.selection = selection;
  }

  /**
   * Copies the selected cells, or the active one, as exact texts in the requested format. TSV comes
   * with an HTML table. Must be called within a user's gesture.
   */
  copy(options: CopyOptions = {}): Promise<void> {
    return this.#tools.copy(options);
  }

  /** Returns the exact values of the selected cells. Rejects with `too_large` above `maxCells`. */
  selectedValues(options: SelectedValuesOptions = {}): Promise<SelectedValues> {
    return this.#tools.selectedValues(options);
  }

  /**
   * Writes the shown rows and columns that have arrived as a file, without the server. Parquet, and rows that have not
   * arrived, need the server: see `shownRequest`.
   */
  toBlob(options: RowsFileOptions): Promise<Blob> {
    return this.#tools.toBlob(options);
  }

  /** Opens the find bar, as Ctrl+F does. */
  find(): void {
    void this.#tools.find();
  }

  /**
   * Returns a `POST …/v1/query` request for the shown rows and columns; undefined if they do not come from a
   * Colonnade server. If the request names a result by its id, the element no longer deletes that result when it
   * closes the table.
   */
  shownRequest(): Request | undefined {
    return this.#arranger.shownRequest(this.#columns.hidesOrMoves ? this.columns : undefined);
  }

  /** Stops sorting and filtering, or else the stream, here and at the server. Rows that arrived stay. */
  cancel(): void {
    if (this.#arranger.isWorking) this.#arranger.cancel();
    else {
      this.#abort?.abort();
      this.#table?.cancel();
    }
  }

  /** Resumes a failed table if possible; otherwise opens the source again, and shows its rows as they were shown. */
  retry(): void {
    const source = this.#given;
    if (this.#table?.canResume) {
      this.#table.resume();
      this.#arranger.arrangeArriving();
    } else if (source !== null) {
      this.#reopen(source);
    }
  }

  /** Opens a source again, and shows its rows as they were shown. */
  #reopen(source: TableSource): void {
    const left = this.#left ?? this.#stateToKeep;
    void this.#load(source, isData(source) ? left : undefined);
    if (isData(source)) return;
    this.state = mergedState(left, this.#stateToShow);
  }

  /** The view, to be shown of the same source again, which may then have further columns. */
  get #stateToKeep(): ViewerStateInput {
    const { summaries: _, columns, ...state } = this.state;
    const { pinned, widthsPx } = columns;
    return { ...state, columns: this.#columns.hidesOrMoves ? columns : { pinned, widthsPx } };
  }

  readonly #loadAll = () => {
    this.#whole = this.#given;
    this.retry();
  };

  get #given(): TableSource | null {
    return this.source ?? this.src;
  }

  /** Moves the focus to the active cell. */
  override focus(): void {
    this.#grid.focus();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#pageLife.connect();
    this.#grid.onMoved();
    this.#isBack = this.hasUpdated;
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#pageLife.disconnect();
    // An element that is only moved is connected again within the same task.
    queueMicrotask(() => {
      if (this.isConnected) return;
      const left = this.#stateToKeep;
      if (this.#isOpenedHere) this.#reset();
      else {
        this.#arranger.unarrange();
        this.#reported = UNARRANGED;
      }
      this.#left = left;
    });
  }

  /** Whether the element opened its table, or is opening it. */
  get #isOpenedHere(): boolean {
    return this.#arranger.isOwned || this.#phase === "connecting";
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("density")) this.#grid.setRowHeight(ROW_HEIGHTS_PX[this.density] ?? 30);
    const before = changed.get("src") ?? changed.get("source");
    if (changed.has("src") || changed.has("source")) {
      this.#left = undefined;
      this.#isSourceNew = true;
      // The total is that of the former table.
      if (before != null && !changed.has("totalRows")) this.totalRows = null;
    } else if (changed.has("row") && this.row !== null) {
      this.#grid.goToRow(this.row);
    }
    if (!this.isConnected) return;
    if (this.#isSourceNew) this.#openGiven(before);
    else if (this.#isBack) this.#showLeft();
    this.#isBack = false;
    this.#isSourceNew = false;
    if (this.#table !== undefined) void this.#restore();
  }

  /** Opens the source that was given instead of `before`. */
  #openGiven(before: TableSource | null | undefined): void {
    const source = this.#given;
    if (isData(source) && isData(before))
      void this.#load(source, this.#stateToKeep, namesOf(this.#table));
    else if (source !== null) void this.#load(source);
    else if (this.#isOpenedHere) this.#reset();
  }

  /** Shows the rows again that were shown when the element left the page. */
  #showLeft(): void {
    if (this.#phase === "idle") this.retry();
    else {
      this.#stateToShow = mergedState(this.#left, this.#stateToShow);
      this.#left = undefined;
    }
  }

  /** Applies the state that was set since the last update. */
  async #restore(): Promise<void> {
    const { sort, filter, row, columns, summaries } = this.#stateToShow;
    this.#stateToShow = {};
    if (summaries !== undefined) this.#summaries.isShown = summaries;
    const { arrangement } = this.#arranger;
    const isOther = sort !== undefined || filter !== undefined;
    // First, because the report of the columns must include the requested order.
    const arranged =
      isOther &&
      this.#arranger.arrange({
        sort: sort ?? arrangement.sort,
        filter: filter === undefined ? arrangement.filter : filter,
      });
    if (columns !== undefined) this.#columns.show(columns);
    if (isOther) {
      await arranged;
      this.#reportArrangement();
    }
    if (row !== undefined) this.#grid.goToRow(row);
    if (!isOther) return;
    await this.#arranger.settled;
    this.#reportArrangement();
  }

  #reportArrangement(): void {
    const { applied } = this.#arranger;
    const before = this.#reported;
    this.#reported = applied;
    if (applied.sort !== before.sort) this.#emit("colonnade-sort", applied.sort);
    if (applied.filter !== before.filter) this.#emit("colonnade-filter", applied.filter);
    this.#reportState();
  }

  protected override render() {
    const { isWorking } = this.#arranger;
    const phase = isWorking ? "arranging" : this.#phase;
    const progress = this.#progress;
    const announced = this.#announcer.text(phase, progress, this.#arranger.arrangement);
    const isRunning = isWorking || (isRunningPhase(phase) && this.#table?.state !== "windowed");
    this.#grid.element.hidden = (this.#table?.schema.fields.length ?? 0) === 0;
    return html`<div class="frame">
      ${this.#renderAlert()}
      ${this.#tools.renderFilter(this.#arranger.arrangement.filter)}
      ${this.#tools.renderFind()}
      <div class="stage">
        ${isRunning ? progressBar(phase, isWorking ? this.#arranger.fraction : (fraction(progress) ?? this.#computation.part)) : nothing}
        ${this.#grid.element}
        ${message(phase, {
          fields: this.#table?.schema.fields,
          numRows: progress?.rows ?? 0,
          isFiltered: this.#arranger.arrangement.filter !== null,
          waitedMs: performance.now() - this.#startMs,
        })}
      </div>
      <div class="toolbar" part="toolbar">
        <div class="line" part="status" aria-hidden="true">${statusLine(phase, this.#table, progress, this.#view !== undefined, this.#computation)}</div>
        <div class="unseen" role="status">${announced}</div>
        ${this.#table && this.#notices?.sourceNotice(this.#table, this.#given && this.#loadAll, isWorking && this.#arranger.arrangement)}
        ${this.#tools.bar.render()}
        ${isRunning ? html`<button part="cancel" @click=${this.cancel}>Cancel</button>` : nothing}
        ${phase === "cancelled" && this.#given !== null ? html`<button @click=${this.retry}>Load again</button>` : nothing}
        ${this.#grid.element.hidden ? nothing : this.#columns.renderButton()}
        ${
          (progress?.rows ?? 0) === 0
            ? nothing
            : html`<button @click=${this.find}>Find</button>
                ${goToRowForm({
                  numRows: progress?.rows ?? 0,
                  isGrowing: mayGrow(this.#table?.state, progress?.totalRows),
                  onRow: (row) => {
                    this.#grid.goToRow(row);
                    this.#reacher.reach(this.#table, this.#grid.awaitedRow);
                    this.#grid.focus();
                  },
                  say: (text, isError) => this.#tools.bar.show(text, isError),
                })}`
        }
      </div>
      ${this.#columns.renderPanels()} ${this.#tools.renderInspector()}
    </div>`;
  }

  #renderAlert() {
    const table = this.#table;
    const { error } = this.#arranger;
    if (this.#error !== undefined) {
      const retry = this.#given !== null || table?.canResume ? () => this.retry() : undefined;
      return errorAlert(this.#error, table?.numRows ?? 0, retry);
    }
    if (error !== undefined) {
      return errorAlert(error, 0, undefined, () => this.#arranger.dismiss());
    }
    if (this.#unread !== undefined) return errorAlert(this.#unread, 0, () => this.#readAgain());
    return table?.paused === undefined ? nothing : this.#notices?.pauseAlert(table);
  }

  /**
   * @param kept the view to be shown once all rows are here, because only a server arranges rows that arrive
   * @param names the columns of that view, if others may come
   */
  async #load(source: TableSource, kept?: ViewerStateInput, names?: string): Promise<void> {
    this.#reset();
    const abort = new AbortController();
    this.#abort = abort;
    this.#phase = "connecting";
    this.#startMs = performance.now();
    this.#tick();
    this.requestUpdate();
    try {
      const missing = missingFeatures();
      if (missing.length > 0) throw (await import("./too-old.js")).tooOld(missing);
      const table = await this.#open(source, abort.signal);
      if (abort !== this.#abort) return table.close();
      this.#show(table, true);
      if (kept === undefined) return;
      await table.done.catch(() => undefined);
      if (abort !== this.#abort || (names && names !== namesOf(table))) return;
      this.state = mergedState(kept, this.#stateToShow);
    } catch (thrown) {
      if (abort !== this.#abort) return;
      const error = ColonnadeError.from(thrown, "open_failed");
      this.#phase = error.code === "cancelled" ? "cancelled" : "failed";
      this.#tick();
      if (this.#phase === "failed") this.#fail(error);
      this.#ready.reject(error);
      this.requestUpdate();
    }
  }

  #open(
    source: TableSource | null,
    signal: AbortSignal,
    rows: ElementOptions = {},
  ): Promise<Table> {
    const options = { signal, ...this.openOptions, loadAll: source === this.#whole };
    return openFor({ firstCells: FIRST_CELLS, ...rows }, source ?? "", options);
  }

  #show(table: Table, isOwned: boolean): void {
    this.#arranger.begin(table, isOwned);
    this.#grid.setTable(table.schema.fields, () => Promise.reject(cancelledError()));
    this.#columns.begin(table.schema.fields);
    this.#showRows({ table, view: undefined });
    this.#onArranging();
    this.#stateChange = new StateChange();
    this.#reportState();
    if (this.row !== null) this.#grid.goToRow(this.row);
    this.#ready.resolve(table);
    this.#emit("colonnade-schema", table.schema);
  }

  /** Shows the rows of a table, or of a view of it, in the present columns. */
  #showRows({ table, view }: ArrangedRows): void {
    const isOther = table !== this.#table;
    this.#table = table;
    this.#view = view;
    this.#tools.reset();
    this.#grid.setRows((start, end, columns, signal) =>
      (view ?? table.rows).window({ start, end }, columns, MAX_CELL_CHARS, signal),
    );
    if (isOther) this.#listen(table);
    this.#follow(table);
  }

  #listen(table: Table): void {
    this.#listening?.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    void followComputation(table, signal, (computation) => {
      this.#computation = computation;
      this.requestUpdate();
    });
    table.addEventListener("progress", () => this.#follow(table), { signal });
    for (const type of ["progress", "complete"] as const) {
      const update = ({ detail }: CustomEvent<TableProgress>) =>
        this.#emit(`colonnade-${type}`, detail);
      table.addEventListener(type, update, { signal });
    }
    table.addEventListener("error", ({ detail }) => this.#onFailure(detail), { signal });
  }

  get #progress(): TableProgress | undefined {
    const progress = this.#table?.progress;
    if (progress === undefined || this.#view === undefined) return progress;
    return { ...progress, rows: this.#view.numRows, totalRows: this.#view.numRows };
  }

  /** Call it when other rows are requested or shown. */
  #onArranging(): void {
    this.#summaries.follow();
    this.#grid.setMarks(headerMarks(this.#columns.shownFields, this.#arranger.arrangement));
    if (this.#arranger.arrangement.filter) void this.#tools.loadFilterBar();
    this.requestUpdate();
  }

  #follow(table: Table): void {
    const { state, progress } = table;
    this.#phase = phaseOf(state, progress);
    this.#tick();
    this.#error = table.error;
    const { rows: numRows, totalRows } = this.#progress ?? progress;
    this.#grid.update({ numRows, totalRows, isGrowing: mayGrow(state, totalRows) });
    this.#tools.bar.grow();
    this.#reacher.reach(table, this.#grid.awaitedRow);
    this.#summaries.follow();
    if (!this.#notices && (table.paused || table.file || table.warning)) {
      void import("./notices.js").then((notices) => {
        this.#notices = notices;
        this.requestUpdate();
      });
    }
    this.requestUpdate();
  }

  get #shown(): ShownRows | undefined {
    const rows = this.view;
    if (rows === undefined || this.#table === undefined) return undefined;
    const { fields } = this.#table.schema;
    return { rows, numRows: rows.numRows, fields, columns: this.#grid.columns };
  }

  /** Reads failed rows again, or opens the source again if the result is gone. */
  #readAgain(): void {
    const source = this.#given;
    if (source === null || !this.#arranger.isOwned || !isGone(this.#unread)) this.#grid.retry();
    else this.#reopen(source);
  }

  /** Opens the source again if the browser ended its worker; not a second time, because its rows may be the cause. */
  #onFailure(error: ColonnadeError): void {
    const source = this.#given;
    const isLost = error.code === "worker_lost" && this.#arranger.isOwned;
    if (isLost && source !== null && source !== this.#lost && canOpenAgain(source)) {
      this.#lost = source;
      this.#reopen(source);
    } else {
      this.#fail(error);
    }
  }

  #fail(error: ColonnadeError): void {
    this.#error = error;
    this.#emit("colonnade-error", error);
    this.requestUpdate();
  }

  /** While rows are awaited, the shown time moves. */
  #tick(): void {
    clearInterval(this.#ticker);
    if (this.#phase === "connecting" || this.#phase === "running") {
      this.#ticker = setInterval(() => this.requestUpdate(), 500);
    }
  }

  #reset(): void {
    this.#left = undefined;
    this.#abort?.abort();
    this.#abort = undefined;
    this.#listening?.abort();
    this.#arranger.end();
    this.#reported = UNARRANGED;
    if (this.#table !== undefined) this.#grid.setTable([], () => Promise.reject(cancelledError()));
    this.#table = undefined;
    this.#view = undefined;
    this.#error = undefined;
    this.#unread = undefined;
    this.#reacher.forget();
    this.#tools.reset();
    this.#phase = "idle";
    this.#tick();
    this.#announcer.announceNext();
    this.#ready.begin();
  }

  #reportState(): void {
    if (this.#table === undefined || !this.#arranger.isShown) return;
    const { state } = this;
    if (this.#stateChange.isChanged(state)) this.#emit("colonnade-state", state);
  }

  /** Returns false if the page has prevented what follows. */
  #emit<K extends keyof ViewerEventMap>(type: K, detail: ViewerEventMap[K]["detail"]): boolean {
    const cancelable = type === "colonnade-activate";
    return this.dispatchEvent(
      new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable }),
    );
  }
}

/** Whether a source is bytes: others with the same columns are the next version of its rows. */
function isData(source: unknown): source is Blob | ArrayBuffer | Uint8Array {
  return source instanceof Object && "slice" in source;
}

function namesOf(table: Table | undefined): string {
  return JSON.stringify(table?.schema.fields.map(({ name }) => name));
}

declare global {
  interface GlobalEventHandlersEventMap extends ViewerEventMap {}
  interface HTMLElementTagNameMap {
    "colonnade-viewer": ColonnadeViewer;
  }
}
