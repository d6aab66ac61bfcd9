import type { Table } from "../api/table.js";
import type { Grid } from "../grid/grid.js";
import { framePainted } from "../rpc/event-loop.js";
import type { Arranger } from "./arranger.js";
import type { ColumnSummaries, SummariesHost } from "./column-summaries.js";
import type { Tools } from "./tools.js";

/** In a smaller viewer, summaries are hidden by default to leave the room to rows. */
const MIN_WIDTH_PX = 560;
const MIN_HEIGHT_PX = 320;
/** The most rows that a server summarises unless the user turned summaries on. */
const MAX_SERVER_ROWS = 100_000_000;

/** Decides whether columns are summarised, and loads the module that does it. */
export class Summaries {
  readonly #host: SummariesHost;
  readonly #grid: Grid;
  readonly #arranger: Arranger;
  #choice: boolean | undefined;
  /** Undefined until it is measured, because measuring forces a layout. */
  #hasRoom: boolean | undefined;
  /** Whether the server would have to read more than {@link MAX_SERVER_ROWS}, or a file is not read whole. */
  #isHuge = false;
  #ofColumns: ColumnSummaries | undefined;
  #isLoading = false;
  readonly #load: Tools["load"];

  constructor(host: SummariesHost, grid: Grid, arranger: Arranger, load: Tools["load"]) {
    this.#host = host;
    this.#grid = grid;
    this.#arranger = arranger;
    this.#load = load;
    new ResizeObserver(() => {
      this.#hasRoom = undefined;
      if (this.isShown !== grid.summaries.isShown) this.follow();
    }).observe(grid.element);
  }

  /** Whether summaries are shown: the user's choice, or else if there is room. */
  get isShown(): boolean {
    if (this.#choice !== undefined) return this.#choice;
    if (this.#hasRoom === undefined) {
      const { clientWidth, clientHeight } = this.#grid.element;
      this.#hasRoom = clientWidth >= MIN_WIDTH_PX && clientHeight >= MIN_HEIGHT_PX;
    }
    return this.#hasRoom && !this.#isHuge;
  }
  set isShown(isShown: boolean) {
    if (isShown === this.isShown && this.#choice !== undefined) return;
    this.#choice = isShown;
    this.follow();
  }

  /** Call it when the rows, the visible columns or the filter may have changed. */
  follow(): void {
    const grid = this.#grid;
    const { table } = this.#arranger.shown ?? {};
    const { state, progress } = table ?? {};
    // With a filter the total may be unknown; then the server reads as many rows as before.
    if (state !== "windowed") this.#isHuge = false;
    else if (progress?.totalRows !== undefined) {
      this.#isHuge = table?.file !== undefined || progress.totalRows > MAX_SERVER_ROWS;
    }
    const { isShown } = this;
    if (isShown !== grid.summaries.isShown) grid.showSummaries(isShown);
    this.#ofColumns?.follow();
    if (isShown && table?.numRows) void this.#begin(table);
  }

  /** Loads the summaries after the first rows are painted, so that rows come first. */
  async #begin(table: Table): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    // It is answered after the grid's requests for its first rows.
    await table.window({ start: 0, end: 1 }, new Uint32Array(), 0).catch(() => undefined);
    await framePainted();
    const loaded = await this.#load(import("./column-summaries.js"));
    if (loaded === undefined) return;
    this.#ofColumns = new loaded.ColumnSummaries(this.#host, this.#grid, this.#arranger);
    this.follow();
  }
}
