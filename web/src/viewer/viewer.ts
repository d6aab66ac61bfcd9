import { html, LitElement, nothing, type PropertyDeclarations, type PropertyValues } from "lit";
import { ColonnadeError, cancelledError } from "../errors.js";
import { Grid } from "../grid/grid.js";
import { gridStyles } from "../grid/styles.js";
import { DEFAULT_MEMORY_BYTES, open } from "../open.js";
import type { Schema } from "../schema.js";
import type { TableSource } from "../source.js";
import type { Table, TableProgress } from "../table.js";
import { errorAlert, pauseAlert, progressBar } from "./alerts.js";
import type { CopyOptions, ShownRows } from "./copy.js";
import { findStyles } from "./find-styles.js";
import { inspectorStyles } from "./inspector-styles.js";
import { stageMessage } from "./message.js";
import { parseBytes, parseRowNumber } from "./parse.js";
import type { ViewerSelection } from "./selected.js";
import { announcement, isGone, isRunningPhase, phaseOf, type ViewerPhase } from "./status.js";
import { statusLine } from "./status-line.js";
import { viewerStyles } from "./styles.js";
import { Tools } from "./tools.js";

/** The events of `<colonnade-viewer>` by name; all bubble and cross shadow roots. */
export interface ViewerEventMap {
  "colonnade-schema": CustomEvent<Schema>;
  "colonnade-progress": CustomEvent<TableProgress>;
  "colonnade-complete": CustomEvent<TableProgress>;
  "colonnade-error": CustomEvent<ColonnadeError>;
  "colonnade-selection": CustomEvent<ViewerSelection | null>;
}

/** What can be stored and given back to show the same again. */
export interface ViewerState {
  /** The first visible row, counted from 0. */
  row: number;
}

const ROW_HEIGHTS_PX: Record<string, number> = { compact: 24, normal: 30, comfortable: 38 };
/** Cells show at most about 70 characters; the rest is for the hover text. */
const MAX_CELL_CHARS = 300;
/** How often a running stream is announced. */
const ANNOUNCE_INTERVAL_MS = 3000;

/**
 * `<colonnade-viewer>`: a table that is looked at while it arrives.
 *
 * @attr src - address of an Arrow IPC stream; changing it opens another table
 * @attr theme - `auto` (default), `light` or `dark`
 * @attr density - `compact`, `normal` (default) or `comfortable`
 * @attr row - the row to show first, counted from 0
 * @attr total-rows - rows to expect, where known: makes progress definite
 * @attr memory - budget of the rows, e.g. `128MiB`; default `1GiB`; beyond it rows come and go
 * @attr credentials - as for fetch; default `same-origin`
 * @attr worker-src - where `worker.js` is, if not beside the module
 * @attr wasm-src - where `colonnade.wasm` is, if not beside the worker
 *
 * @fires colonnade-schema - the columns are known
 * @fires colonnade-progress - rows arrived, or the state changed
 * @fires colonnade-complete - all rows arrived
 * @fires colonnade-error - the stream failed; rows that arrived stay
 * @fires colonnade-selection - other cells are selected, or none
 *
 * @csspart header - the row of column names
 * @csspart row - a row
 * @csspart cell - a cell
 * @csspart toolbar - the bar below the rows
 * @csspart status - the line in it
 * @csspart find - the bar in which a text is looked for
 * @csspart inspector - the dialog that shows a cell whole
 * @csspart selection - what is selected, in short
 */
export class ColonnadeViewer extends LitElement {
  static override styles = [viewerStyles, gridStyles, inspectorStyles, findStyles];
  static override properties: PropertyDeclarations = {
    src: { type: String },
    theme: { type: String, reflect: true },
    density: { type: String },
    row: { type: Number },
    totalRows: { type: Number, attribute: "total-rows" },
    memory: { type: String },
    credentials: { type: String },
    workerSrc: { type: String, attribute: "worker-src" },
    wasmSrc: { type: String, attribute: "wasm-src" },
    source: { attribute: false },
    headers: { attribute: false },
  };

  declare src: string | null;
  declare theme: "auto" | "light" | "dark";
  declare density: "compact" | "normal" | "comfortable";
  declare row: number | null;
  declare totalRows: number | null;
  declare memory: string | null;
  declare credentials: RequestCredentials | null;
  declare workerSrc: string | null;
  declare wasmSrc: string | null;
  /** Anything that `open` takes; comes before `src`. */
  declare source: TableSource | null;
  /** Headers to send with the request for `src` or `source`. */
  declare headers: HeadersInit | null;

  readonly #grid = new Grid({
    onCopy: () => void this.copy().catch(() => undefined),
    onOpen: (position) => void this.#tools.inspector.open(position),
    onSelect: () => {
      this.#tools.bar.follow();
      this.#emit("colonnade-selection", this.selection);
    },
    onFailure: (error) => {
      this.#unread = error === undefined ? undefined : ColonnadeError.from(error, "worker_failed");
      this.requestUpdate();
    },
  });
  readonly #tools = new Tools(this, this.#grid, () => this.#shown);
  #table: Table | undefined;
  #ownsTable = false;
  #phase: ViewerPhase = "idle";
  #error: ColonnadeError | undefined;
  /** Why rows that are looked at could not be read. */
  #unread: ColonnadeError | undefined;
  #abort: AbortController | undefined;
  #startMs = 0;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #announced = "";
  #announcedMs = Number.NEGATIVE_INFINITY;
  #announcedPhase: ViewerPhase = "idle";
  #ready = Promise.withResolvers<Table>();
  #wasRunning = false;
  #reachedRow: number | undefined;
  // A page that is hidden stops its streams; one that comes back out of the browser's cache shows
  // the same rows again.
  readonly #onPageHide = () => {
    this.#wasRunning = isRunningPhase(this.#phase) || this.#table?.state === "windowed";
  };
  readonly #onPageShow = ({ persisted }: PageTransitionEvent) => {
    if (!persisted || !this.#wasRunning) return;
    const { row } = this.state;
    this.retry();
    this.row = row;
  };

  constructor() {
    super();
    this.src = null;
    this.theme = "auto";
    this.density = "normal";
    this.row = null;
    this.totalRows = null;
    this.memory = null;
    this.credentials = null;
    this.workerSrc = null;
    this.wasmSrc = null;
    this.source = null;
    this.headers = null;
    this.#quietReady();
    this.addEventListener("keydown", (event) => this.#tools.onKey(event), { capture: true });
  }

  /** The table that is shown. Setting one shows it; whoever opened it closes it. */
  get table(): Table | undefined {
    return this.#table;
  }
  set table(table: Table | undefined) {
    this.#reset();
    if (table === undefined) this.requestUpdate();
    else this.#show(table, false);
  }

  /** Resolves with the table once its schema is known; rejects when it cannot be opened. */
  get ready(): Promise<Table> {
    return this.#ready.promise;
  }

  /** The view as JSON; setting it shows the same again. */
  get state(): ViewerState {
    return { row: Math.floor(this.#grid.topRow) };
  }
  set state({ row }: ViewerState) {
    this.row = row;
  }

  /** The selected cells; null where there are none. Positions are those on the screen. */
  get selection(): ViewerSelection | null {
    return this.#tools.selection;
  }
  set selection(selection: ViewerSelection | null) {
    this.#tools.selection = selection;
  }

  /**
   * Copies the selected cells, or the active one: exact texts in the format that is asked for, with
   * a table of HTML beside TSV. Must be called within a user's gesture.
   */
  copy(options: CopyOptions = {}): Promise<void> {
    return this.#tools.copy(options);
  }

  /** Opens the bar that finds a text, as Ctrl+F does. */
  find(): void {
    void this.#tools.find.open();
  }

  /** Stops the stream, here and at the server; rows that arrived stay. */
  cancel(): void {
    this.#abort?.abort();
    this.#table?.cancel();
  }

  /** Goes on where a failed table can; otherwise opens the source again, from the first row. */
  retry(): void {
    if (this.#table?.canResume) {
      this.#table.resume();
      return;
    }
    const source = this.source ?? this.src;
    if (source !== null) void this.#load(source);
  }

  override focus(): void {
    this.#grid.focus();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("pagehide", this.#onPageHide);
    addEventListener("pageshow", this.#onPageShow);
    if (this.hasUpdated && this.#table === undefined) this.retry();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("pagehide", this.#onPageHide);
    removeEventListener("pageshow", this.#onPageShow);
    // An element that is only moved comes back within the same task.
    queueMicrotask(() => {
      if (!this.isConnected && this.#ownsTable) this.#reset();
    });
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("density")) {
      this.#grid.setRowHeight(ROW_HEIGHTS_PX[this.density] ?? 30);
    }
    if (changed.has("src") || changed.has("source")) {
      const source = this.source ?? this.src;
      if (source !== null) void this.#load(source);
      else if (this.#ownsTable || this.#phase === "connecting") this.#reset();
    } else if (changed.has("row") && this.row !== null) {
      this.#grid.goToRow(this.row);
    }
  }

  protected override render() {
    const phase = this.#phase;
    const progress = this.#table?.progress;
    this.#announce(phase, progress);
    const isRunning = isRunningPhase(phase) && this.#table?.state !== "windowed";
    this.#grid.element.hidden = (this.#table?.schema.fields.length ?? 0) === 0;
    return html`<div class="frame">
      ${this.#renderAlert()} ${this.#tools.find.render()}
      <div class="stage">
        ${isRunning ? progressBar(phase, progress) : nothing}
        ${this.#grid.element}
        ${stageMessage(phase, this.#table, this.#startMs)}
      </div>
      <div class="toolbar" part="toolbar">
        <div class="line" part="status" aria-hidden="true">${statusLine(phase, this.#table)}</div>
        <div class="unseen" role="status">${this.#announced}</div>
        ${this.#tools.bar.render()}
        ${isRunning ? html`<button @click=${this.cancel}>Cancel</button>` : nothing}
        ${
          (progress?.rows ?? 0) === 0
            ? nothing
            : html`<button @click=${this.find}>Find</button>
              <form @submit=${this.#onGoToRow}>
                <input
                  aria-label="Go to row"
                  placeholder="Go to row"
                  inputmode="numeric"
                  autocomplete="off"
                  spellcheck="false"
                  @input=${clearInvalid}
                />
              </form>`
        }
      </div>
      ${this.#tools.inspector.render()}
    </div>`;
  }

  #renderAlert() {
    const table = this.#table;
    if (this.#error !== undefined) {
      const canRetry = (this.source ?? this.src) !== null || table?.canResume;
      return errorAlert(
        this.#error,
        table?.numRows ?? 0,
        canRetry ? () => this.retry() : undefined,
      );
    }
    if (this.#unread !== undefined) return errorAlert(this.#unread, 0, () => this.#readAgain());
    return table?.paused === undefined ? nothing : pauseAlert(table);
  }

  async #load(source: TableSource): Promise<void> {
    this.#reset();
    const abort = new AbortController();
    this.#abort = abort;
    this.#phase = "connecting";
    this.#startMs = performance.now();
    this.#ticker = setInterval(() => this.requestUpdate(), 500);
    this.requestUpdate();
    try {
      const table = await open(source, {
        signal: abort.signal,
        headers: this.headers ?? undefined,
        credentials: this.credentials ?? undefined,
        memoryBytes: this.memory === null ? DEFAULT_MEMORY_BYTES : parseBytes(this.memory),
        totalRows: this.totalRows ?? undefined,
        workerSrc: this.workerSrc ?? undefined,
        wasmSrc: this.wasmSrc ?? undefined,
      });
      if (abort !== this.#abort) table.close();
      else this.#show(table, true);
    } catch (thrown) {
      if (abort !== this.#abort) return;
      clearInterval(this.#ticker);
      const error = ColonnadeError.from(thrown, "open_failed");
      this.#phase = error.code === "cancelled" ? "cancelled" : "failed";
      if (this.#phase === "failed") this.#fail(error);
      this.#ready.reject(error);
      this.requestUpdate();
    }
  }

  #show(table: Table, isOwned: boolean): void {
    clearInterval(this.#ticker);
    this.#table = table;
    this.#ownsTable = isOwned;
    const { fields } = table.schema;
    this.#grid.setTable(fields, (start, end, columns, signal) =>
      table.window({ start, end }, columns, MAX_CELL_CHARS, signal),
    );
    const whileShown =
      <E extends Event>(listener: (event: E) => void) =>
      (event: E) => {
        if (this.#table === table) listener(event);
      };
    table.addEventListener(
      "progress",
      whileShown((event: CustomEvent<TableProgress>) => {
        this.#follow(table);
        this.#emit("colonnade-progress", event.detail);
      }),
    );
    table.addEventListener(
      "complete",
      whileShown((event: CustomEvent<TableProgress>) =>
        this.#emit("colonnade-complete", event.detail),
      ),
    );
    table.addEventListener(
      "error",
      whileShown((event: CustomEvent<ColonnadeError>) => this.#fail(event.detail)),
    );
    this.#follow(table);
    if (this.row !== null) this.#grid.goToRow(this.row);
    this.#ready.resolve(table);
    this.#emit("colonnade-schema", table.schema);
  }

  #follow(table: Table): void {
    const { state, numRows, progress } = table;
    this.#phase = phaseOf(state, progress);
    this.#error = table.error;
    const { totalRows } = progress;
    const isOpenEnded = state === "windowed" && totalRows === undefined;
    this.#grid.update({ numRows, totalRows, isGrowing: state === "streaming" || isOpenEnded });
    this.#tools.bar.grow();
    this.#reach();
    this.requestUpdate();
  }

  /** What is looked at. */
  get #shown(): ShownRows | undefined {
    const table = this.#table;
    if (table === undefined) return undefined;
    const { fields } = table.schema;
    return {
      rows: table,
      numRows: table.numRows,
      fields,
      columns: fields.map((_, index) => index),
    };
  }

  /** Of a windowed table, a row that nobody knows of yet comes when it is asked for. */
  #reach(): void {
    const row = this.#grid.awaitedRow;
    if (this.#table?.state !== "windowed" || row === undefined || row === this.#reachedRow) return;
    this.#reachedRow = row;
    const range = { start: row, end: row + 1 };
    this.#table.window(range, new Uint32Array(), 0).catch(() => {
      this.#reachedRow = undefined;
    });
  }

  /** Asks again for rows that could not be read; for all where the result is gone. */
  #readAgain(): void {
    const source = this.source ?? this.src;
    if (source === null || !this.#ownsTable || !isGone(this.#unread)) {
      this.#grid.retry();
      return;
    }
    this.row = this.state.row;
    void this.#load(source);
  }

  #fail(error: ColonnadeError): void {
    this.#error = error;
    this.#emit("colonnade-error", error);
    this.requestUpdate();
  }

  #reset(): void {
    clearInterval(this.#ticker);
    this.#abort?.abort();
    this.#abort = undefined;
    if (this.#ownsTable) this.#table?.close();
    if (this.#table !== undefined) this.#grid.setTable([], () => Promise.reject(cancelledError()));
    this.#table = undefined;
    this.#ownsTable = false;
    this.#error = undefined;
    this.#unread = undefined;
    this.#reachedRow = undefined;
    this.#tools.reset();
    this.#phase = "idle";
    this.#announcedMs = Number.NEGATIVE_INFINITY;
    // Nobody can be left waiting for a table that will not come.
    this.#ready.reject(cancelledError());
    this.#ready = Promise.withResolvers<Table>();
    this.#quietReady();
  }

  #quietReady(): void {
    this.#ready.promise.catch(() => undefined);
  }

  #announce(phase: ViewerPhase, progress: TableProgress | undefined): void {
    const nowMs = performance.now();
    const isDue = nowMs - this.#announcedMs >= ANNOUNCE_INTERVAL_MS;
    if (phase === this.#announcedPhase && phase === "streaming" && !isDue) return;
    this.#announced = announcement(phase, progress);
    this.#announcedPhase = phase;
    this.#announcedMs = nowMs;
  }

  #onGoToRow(event: SubmitEvent): void {
    event.preventDefault();
    const input = (event.currentTarget as HTMLFormElement).querySelector("input");
    if (input === null) return;
    const number = parseRowNumber(input.value);
    if (number === undefined) {
      input.setAttribute("aria-invalid", "true");
      return;
    }
    this.#grid.goToRow(number - 1);
    this.#reach();
    this.#grid.focus();
  }

  #emit<K extends keyof ViewerEventMap>(type: K, detail: ViewerEventMap[K]["detail"]): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }
}

function clearInvalid(event: InputEvent): void {
  (event.currentTarget as HTMLInputElement).removeAttribute("aria-invalid");
}

declare global {
  interface HTMLElementTagNameMap {
    "colonnade-viewer": ColonnadeViewer;
  }
}
