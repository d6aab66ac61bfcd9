import { type CSSResult, html, nothing, type TemplateResult } from "lit";
import type { Grid } from "../grid/grid.js";
import type { HeaderCallbacks } from "../grid/header-input.js";
import type { Arrangement } from "../model/arrangement.js";
import { distinctFields, type Field, isSortableType } from "../model/schema.js";
import {
  allColumns,
  type ColumnsState,
  fittingColumns,
  gridColumns,
  movedColumn,
  widenedColumn,
} from "./column-order.js";
import type { ColumnPanels } from "./column-panels.js";
import { toggledSort } from "./sorting.js";
import type { ViewerStateInput } from "./state.js";

/** The viewer of the columns. */
export interface ColumnsHost {
  grid(): Grid;
  /** The summaries below the names of columns. */
  summaries(): { isShown: boolean };
  arrangement(): Arrangement;
  /** Requests other rows, or another order. */
  arrange(change: Partial<Arrangement>): void;
  /** The shown columns changed, or only their widths. */
  onColumns(areOthers: boolean): void;
  /** Loads a module with its styles; undefined if that fails. */
  load<T extends { styles: CSSResult }>(loading: Promise<T>): Promise<T | undefined>;
  /** Draws, and resolves with the render root. */
  draw(): Promise<ParentNode>;
}

/** Controls the shown columns, their order and widths, and the panels at their headers. */
export class ColumnsControl implements HeaderCallbacks {
  readonly #host: ColumnsHost;
  /** The panels, once they are loaded. */
  #panels: ColumnPanels | undefined;
  /** The columns with distinct names. */
  #fields: readonly Field[] = [];
  #state: ColumnsState = allColumns([]);
  #startPx = 0;

  constructor(host: ColumnsHost) {
    this.#host = host;
  }

  /** Which columns are shown and how. */
  get state(): ColumnsState {
    return this.#state;
  }

  /** The shown columns, in that order, with distinct names. */
  get shownFields(): readonly Field[] {
    return this.#host.grid().columns.flatMap((column) => this.#fields[column] ?? []);
  }

  /** Whether columns are hidden or in another order than in the table. */
  get hidesOrMoves(): boolean {
    const { shown } = this.#state;
    const isSame = this.#fields.every(({ name }, index) => name === shown[index]);
    return shown.length !== this.#fields.length || !isSame;
  }

  /** Takes the columns of another table, all of them shown. */
  begin(fields: readonly Field[]): void {
    this.#fields = distinctFields(fields);
    this.#state = allColumns(this.#fields);
  }

  /** Shows the columns of a state, as far as the table has them; what it does not name stays. */
  show(state: NonNullable<ViewerStateInput["columns"]>): void {
    this.#state = fittingColumns(this.#fields, { ...this.#state, ...state });
    this.#host.onColumns(this.#host.grid().setColumns(gridColumns(this.#fields, this.#state)));
  }

  readonly onSort = (column: number, isAdded: boolean): void => {
    const field = this.shownFields[column];
    if (field === undefined || !isSortableType(field.type)) return;
    this.#host.arrange({ sort: toggledSort(this.#host.arrangement().sort, field.name, isAdded) });
  };

  readonly onMenu = async (column: number): Promise<void> => {
    const panels = await this.#load();
    const field = this.shownFields[column];
    const header = () => this.#host.grid().headerElement(column);
    if (field !== undefined && header() !== undefined) void panels?.openMenu(field, header);
  };

  readonly onWiden = (column: number, byPx: number, phase: "begin" | "drag" | "end"): void => {
    const name = this.#state.shown[column];
    if (phase === "begin") this.#startPx = this.#host.grid().columnWidthPx(column);
    if (name === undefined || phase === "begin") return;
    this.#state = widenedColumn(this.#state, name, this.#startPx + byPx);
    this.#host.grid().setColumns(gridColumns(this.#fields, this.#state));
    if (phase === "end") this.#host.onColumns(false);
  };

  readonly onFit = async (column: number): Promise<void> => {
    const name = this.#state.shown[column];
    const widthPx = await this.#host
      .grid()
      .fittedWidthPx(column)
      .catch(() => undefined);
    if (name === undefined || widthPx === undefined) return;
    this.show(widenedColumn(this.#state, name, widthPx));
  };

  readonly onMove = (column: number, to: number): void => {
    const name = this.#state.shown[column];
    if (name === undefined) return;
    this.show(movedColumn(this.#state, name, to));
    this.#focus(name);
  };

  /** The button that opens the list of columns. */
  renderButton(): TemplateResult {
    const numHidden = this.#fields.length - this.#state.shown.length;
    return html`<button
      aria-haspopup="dialog"
      @click=${async ({ currentTarget }: Event) =>
        (await this.#load())?.openPicker(currentTarget as Element)}
    >
      Columns${numHidden === 0 ? nothing : html` <small class="minor">${numHidden} hidden</small>`}
    </button>`;
  }

  /** The open panels. */
  renderPanels(): TemplateResult | undefined {
    return this.#panels?.render();
  }

  async #load(): Promise<ColumnPanels | undefined> {
    const host = this.#host;
    const loaded = await host.load(import("./column-panels.js"));
    if (loaded === undefined) return undefined;
    this.#panels ??= new loaded.ColumnPanels({
      fields: () => this.#fields,
      state: () => this.#state,
      summaries: host.summaries,
      arrangement: host.arrangement,
      arrange: host.arrange,
      show: (state) => this.show(state),
      onMove: this.onMove,
      onFit: this.onFit,
      focus: (name) => this.#focus(name),
      draw: host.draw,
    });
    return this.#panels;
  }

  #focus(name: string): void {
    const column = this.#state.shown.indexOf(name);
    if (column >= 0) this.#host.grid().focusHeader(column);
  }
}
