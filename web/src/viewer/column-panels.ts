import { html, nothing, type TemplateResult } from "lit";
import type { Arrangement } from "../model/arrangement.js";
import type { Field } from "../model/schema.js";
import { columnActions } from "./column-actions.js";
import { ColumnMenu } from "./column-menu.js";
import {
  allColumns,
  type ColumnsState,
  pinnedColumn,
  withColumn,
  withoutColumn,
} from "./column-order.js";
import { columnPicker } from "./column-picker.js";
import { withConjuncts } from "./filters.js";
import { placePanel } from "./panel.js";

export { panelStyles as styles } from "./panel-styles.js";

/** What the panels of columns need of the viewer. */
export interface ColumnPanelsHost {
  /** All columns, with distinct names. */
  fields(): readonly Field[];
  state(): ColumnsState;
  /** The summaries below the names of columns. */
  summaries(): { isShown: boolean };
  arrangement(): Arrangement;
  /** Requests other rows, or another order. */
  arrange(change: Partial<Arrangement>): void;
  show(state: ColumnsState): void;
  /** Columns are counted from 0, as shown. */
  onMove(column: number, to: number): void;
  onFit(column: number): void;
  /** Gives the focus to the header of a column. */
  focus(name: string): void;
  /** Draws, and resolves with the render root. */
  draw(): Promise<ParentNode>;
}

/** The panels of columns: the menu of one, and the list of all. Loaded when one first opens. */
export class ColumnPanels {
  readonly #host: ColumnPanelsHost;
  readonly #menu: ColumnMenu;
  /** The column whose menu was opened last, by its distinct name. */
  #menuName = "";
  #isPickerOpen = false;
  #search = "";

  constructor(host: ColumnPanelsHost) {
    this.#host = host;
    this.#menu = new ColumnMenu({
      onSort: (column, direction) => {
        const descending = direction === "descending";
        host.arrange({ sort: direction === undefined ? [] : [{ column, descending }] });
      },
      onFilter: (column, parts) => {
        host.arrange({ filter: withConjuncts(host.arrangement().filter, column, parts) });
      },
      onClose: (hadFocus) => {
        if (hadFocus) host.focus(this.#menuName);
        void host.draw();
      },
    });
  }

  /** Opens the menu of a column at its header. */
  async openMenu(field: Field, header: () => Element | undefined): Promise<void> {
    this.#menuName = field.name;
    const { sort, filter } = this.#host.arrangement();
    const key = sort.find((each) => each.column === field.name);
    const direction = key?.descending ? "descending" : "ascending";
    this.#menu.open({ field, filter, direction: key && direction });
    await this.#place(".panel.column", header);
  }

  /** Opens the list of columns at its button. */
  async openPicker(button: Element): Promise<void> {
    this.#isPickerOpen = true;
    this.#search = "";
    await this.#place(".panel.picker", () => button);
  }

  /** The open panels. */
  render(): TemplateResult {
    return html`${this.#menu.render(() => this.#actions(this.#menuName))}
    ${this.#isPickerOpen ? this.#picker() : nothing}`;
  }

  async #place(selector: string, anchor: () => Element | undefined): Promise<void> {
    const panel = (await this.#host.draw()).querySelector<HTMLElement>(selector);
    if (panel !== null) placePanel(panel, anchor);
  }

  #actions(name: string): TemplateResult {
    const host = this.#host;
    const state = host.state();
    return columnActions({
      name,
      state,
      onMove: host.onMove,
      onPin: (isPinned) => host.show(pinnedColumn(state, name, isPinned)),
      onFit: host.onFit,
      onHide: () => host.show(withoutColumn(state, name)),
    });
  }

  #picker(): TemplateResult {
    const host = this.#host;
    const [fields, state] = [host.fields(), host.state()];
    return columnPicker({
      fields,
      shown: state.shown,
      search: this.#search,
      onSearch: (text) => {
        this.#search = text;
        void host.draw();
      },
      onToggle: (name, isShown) => {
        host.show(isShown ? withColumn(state, fields, name) : withoutColumn(state, name));
      },
      summaries: host.summaries(),
      onAll: () => host.show({ ...allColumns(fields), widthsPx: state.widthsPx }),
      onClose: () => {
        this.#isPickerOpen = false;
        void host.draw();
      },
    });
  }
}
