import { type CSSResult, html, nothing, type TemplateResult } from "lit";
import type { Grid } from "../grid/grid.js";
import type { HeaderCallbacks } from "../grid/header-input.js";
import type { Arrangement } from "../model/arrangement.js";
import { distinctFields, type Field, isSortableType } from "../model/schema.js";
import type { Arranger } from "./arranger.js";
import type { ColumnMenu } from "./column-menu.js";
import {
  allColumns,
  type ColumnsState,
  fittingColumns,
  gridColumns,
  movedColumn,
  widenedColumn,
} from "./column-order.js";
import { withConjuncts } from "./filters.js";
import { toggledSort } from "./sorting.js";
import type { ViewerStateInput } from "./state.js";

/** The viewer of the columns. */
export interface ColumnsHost {
  grid(): Grid;
  /** The summaries below the names of columns. */
  summaries(): { isShown: boolean };
  arranger(): Arranger;
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
  #panels: typeof import("./column-panels.js") | undefined;
  #menu: ColumnMenu | undefined;
  /** The columns with distinct names. */
  #fields: readonly Field[] = [];
  /** The column whose menu was opened last. */
  #menuName = "";
  #state: ColumnsState = allColumns([]);
  #startPx = 0;
  #isPickerOpen = false;
  #search = "";

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
    this.#host.arrange({
      sort: toggledSort(this.#host.arranger().arrangement.sort, field.name, isAdded),
    });
  };

  readonly onMenu = async (column: number): Promise<void> => {
    const menu = await this.#load();
    const field = this.shownFields[column];
    const header = this.#host.grid().headerElement(column);
    if (menu === undefined || field === undefined || header === undefined) return;
    this.#menuName = this.#state.shown[column] ?? "";
    const { sort, filter } = this.#host.arranger().arrangement;
    const key = sort.find((each) => each.column === field.name);
    const direction = key?.descending ? "descending" : "ascending";
    menu.open({ field, filter, direction: key && direction });
    const panel = (await this.#host.draw()).querySelector<HTMLElement>(".panel.column");
    if (panel === null) return;
    this.#panels?.openPanel(panel, header, () => this.#focus(this.#menuName));
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
      @click=${(event: Event) => this.#openPicker(event.currentTarget as HTMLElement)}
    >
      Columns${numHidden === 0 ? nothing : html` <small class="minor">${numHidden} hidden</small>`}
    </button>`;
  }

  /** The open panels. */
  renderPanels(): TemplateResult {
    return html`${this.#menu?.render(() => this.#actions(this.#menuName)) ?? nothing}
    ${this.#isPickerOpen ? this.#picker() : nothing}`;
  }

  async #load() {
    const panels = await this.#host.load(import("./column-panels.js"));
    if (panels === undefined) return undefined;
    this.#panels = panels;
    this.#menu ??= new panels.ColumnMenu({
      onSort: (column, direction) => {
        const descending = direction === "descending";
        this.#host.arrange({ sort: direction === undefined ? [] : [{ column, descending }] });
      },
      onFilter: (column, parts) => {
        this.#host.arrange({
          filter: withConjuncts(this.#host.arranger().arrangement.filter, column, parts),
        });
      },
      onChange: () => void this.#host.draw(),
      onClose: () => void this.#host.draw(),
      arranger: this.#host.arranger(),
    });
    return this.#menu;
  }

  #actions(name: string): TemplateResult | undefined {
    const panels = this.#panels;
    return panels?.columnActions({
      name,
      state: this.#state,
      onMove: this.onMove,
      onPin: (isPinned) => this.show(panels.pinnedColumn(this.#state, name, isPinned)),
      onFit: this.onFit,
      onHide: () => this.show(panels.withoutColumn(this.#state, name)),
    });
  }

  #picker(): TemplateResult | undefined {
    const panels = this.#panels;
    return panels?.columnPicker({
      fields: this.#fields,
      shown: this.#state.shown,
      search: this.#search,
      onSearch: (text) => {
        this.#search = text;
        void this.#host.draw();
      },
      onToggle: (name, isShown) => {
        this.show(
          isShown
            ? panels.withColumn(this.#state, this.#fields, name)
            : panels.withoutColumn(this.#state, name),
        );
      },
      summaries: this.#host.summaries(),
      onAll: () => this.show({ ...allColumns(this.#fields), widthsPx: this.#state.widthsPx }),
      onClose: () => {
        this.#isPickerOpen = false;
        void this.#host.draw();
      },
    });
  }

  async #openPicker(button: HTMLElement): Promise<void> {
    if ((await this.#load()) === undefined) return;
    this.#isPickerOpen = true;
    this.#search = "";
    const panel = (await this.#host.draw()).querySelector<HTMLElement>(".panel.picker");
    if (panel !== null) this.#panels?.openPanel(panel, button, () => button.focus());
  }

  #focus(name: string): void {
    const column = this.#state.shown.indexOf(name);
    if (column >= 0) this.#host.grid().focusHeader(column);
  }
}
