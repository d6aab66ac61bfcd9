import type { CSSResult } from "lit";
import type { Grid } from "../grid/grid.js";
import type { Predicate } from "../model/predicate.js";
import { framePainted } from "../rpc/event-loop.js";
import type { Arranger } from "./arranger.js";
import type { Summariser } from "./summariser.js";

/** In a smaller viewer, summaries are hidden by default to leave the room to rows. */
const MIN_WIDTH_PX = 560;
const MIN_HEIGHT_PX = 320;
/** The most rows that a server summarises unless the user turned summaries on. */
const MAX_SERVER_ROWS = 100_000_000;

/** The viewer of the summaries. */
export interface SummariesHost {
  /** Adds the styles of a module that is loaded late. */
  adopt(styles: CSSResult): void;
  /** The user chose bins of a summary, which filters rows. */
  onFilter(filter: Predicate | null): void;
}

/** Whether column summaries are shown. What makes them is loaded after the first rows are painted. */
export class Summaries {
  readonly #host: SummariesHost;
  readonly #grid: Grid;
  readonly #arranger: Arranger;
  #choice: boolean | undefined;
  /** Undefined until it is measured, because measuring forces a layout. */
  #hasRoom: boolean | undefined;
  /** Whether the server would have to read more than {@link MAX_SERVER_ROWS}. */
  #isHuge = false;
  #summariser: Summariser | undefined;
  #isLoading = false;

  constructor(grid: Grid, arranger: Arranger, host: SummariesHost) {
    this.#host = host;
    this.#grid = grid;
    this.#arranger = arranger;
    const measure = () => {
      this.#hasRoom = undefined;
      if (this.isShown !== grid.summaries.isShown) this.follow();
    };
    // In the next frame, because another height of the header changes the size that is observed.
    new ResizeObserver(() => requestAnimationFrame(measure)).observe(grid.element);
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
    const { state, progress } = this.#arranger.shown?.table ?? {};
    // With a filter the total may be unknown; then the server reads as many rows as before.
    if (state !== "windowed") this.#isHuge = false;
    else if (progress?.totalRows !== undefined) {
      this.#isHuge = progress.totalRows > MAX_SERVER_ROWS;
    }
    const { isShown } = this;
    if (isShown !== grid.summaries.isShown) grid.showSummaries(isShown);
    if (this.#summariser !== undefined) this.#summariser.follow();
    else if (isShown && progress?.rows) void this.#load();
  }

  /** If the module cannot be loaded, there are no summaries until it can. */
  async #load(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    await framePainted();
    const loaded = await import("./summariser.js").catch(() => undefined);
    this.#isLoading = false;
    if (loaded === undefined) return;
    this.#host.adopt(loaded.styles);
    const { onFilter } = this.#host;
    this.#summariser = new loaded.Summariser(this.#grid, this.#arranger, onFilter);
    this.#summariser.follow();
  }
}
