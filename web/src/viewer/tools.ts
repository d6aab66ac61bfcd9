import { type CSSResult, nothing } from "lit";
import type { Grid } from "../grid/grid.js";
import type { CellPosition } from "../grid/keyboard.js";
import type { Predicate } from "../model/predicate.js";
import type { CopyOptions, ShownRows } from "./clipboard.js";
import type { FindBar } from "./find-bar.js";
import type { Inspector } from "./inspector.js";
import type { RowsFileOptions } from "./rows-file.js";
import {
  gridSelection,
  type SelectedValues,
  type SelectedValuesOptions,
  type ViewerActivation,
  type ViewerSelection,
  viewerSelection,
} from "./selected.js";
import { SelectionBar } from "./selection-bar.js";

/** The element around the tools. */
export interface ToolsHost extends EventTarget {
  filter: Predicate | null;
  readonly fieldColumns: boolean;
  requestUpdate(): void;
  readonly updateComplete: Promise<boolean>;
  readonly shadowRoot: ShadowRoot | null;
}

/**
 * Tools for the shown cells: selecting, copying, inspecting, finding. The last two are loaded at their
 * first use, so that they do not delay the rows.
 */
export class Tools {
  readonly bar: SelectionBar;
  readonly #host: ToolsHost;
  readonly #grid: Grid;
  readonly #common;
  #filterBar: typeof import("./filter-bar.js") | undefined;
  #inspector: Inspector | undefined;
  #find: FindBar | undefined;
  /** The cell that was activated last. */
  #activated: CellPosition | undefined;

  /** @param shown the shown rows; undefined if there are none */
  constructor(host: ToolsHost, grid: Grid, shown: () => ShownRows | undefined) {
    this.#host = host;
    this.#grid = grid;
    this.#common = {
      viewer: host,
      requestUpdate: () => host.requestUpdate(),
      whenUpdated: () => host.updateComplete,
      shown,
      onClose: () => grid.focus(),
      rect: () => grid.selecting.rect,
    };
    this.bar = new SelectionBar(this.#common);
  }

  /** The selected cells; null if there are none. */
  get selection(): ViewerSelection | null {
    return viewerSelection(this.#grid.selecting);
  }
  set selection(selection: ViewerSelection | null) {
    this.#grid.select(selection === null ? undefined : gridSelection(selection));
  }

  /** Copies the selected cells, or the active one. */
  async copy(options: CopyOptions): Promise<void> {
    const { row, column } = this.#grid.active;
    const one = { rowStart: row, rowEnd: row + 1, columnStart: column, columnEnd: column + 1 };
    await this.bar.copy(this.#grid.selecting.rect ?? one, options);
  }

  /** The values of the selected cells; none if nothing is selected. */
  async selectedValues(options: SelectedValuesOptions): Promise<SelectedValues> {
    const shown = this.#common.shown();
    const rect = this.#common.rect();
    const { selectedValues } = await import("./selected-values.js");
    return selectedValues(shown, rect, options);
  }

  /** The shown rows as a file. */
  async toBlob(options: RowsFileOptions): Promise<Blob> {
    const shown = this.#common.shown();
    const { rowsFile } = await import("./rows-file.js");
    return rowsFile(shown, options);
  }

  /**
   * Reports that the user activated a cell, with the values of its row, and then shows it whole in the inspector,
   * unless `report` returns false. Does neither if another cell is activated, or other rows are shown, meanwhile.
   */
  async activate(
    position: CellPosition,
    report: (activation: ViewerActivation) => boolean,
  ): Promise<void> {
    const shown = this.#common.shown();
    if (shown === undefined) return;
    this.#activated = position;
    let mayInspect = true;
    try {
      const { activation } = await import("./selected-values.js");
      const activated = await activation(shown, position);
      if (this.#activated !== position) return;
      mayInspect = report(activated);
    } catch {
      // The inspector shows why the row cannot be read.
    }
    if (mayInspect && this.#activated === position) await this.inspect(position);
  }

  /** Shows a whole cell in the inspector. */
  async inspect(position: CellPosition): Promise<void> {
    const loaded = await this.load(import("./inspector.js"));
    if (loaded === undefined) return;
    this.#inspector ??= new loaded.Inspector(this.#common);
    await this.#inspector.open(position);
  }

  /** Opens the menu of a cell, for an event of the grid. */
  async menu(position: CellPosition, event: Event): Promise<void> {
    const { target, type } = event;
    const isPress = type === "pointerdown";
    if (isPress && (event as PointerEvent).pointerType !== "touch") return;
    if (!isPress) event.preventDefault();
    // A finger that scrolls or is lifted meanwhile does not press.
    const press = new AbortController();
    const { signal } = press;
    const end = () => press.abort();
    for (const ending of ["pointerup", "pointercancel"]) addEventListener(ending, end, { signal });
    const loaded = await this.load(import("./cell-menu.js"));
    if (isPress && signal.aborted) return;
    end();
    loaded?.cellMenu(
      {
        ...this.#common,
        grid: this.#grid,
        copy: () => this.copy({}),
        inspect: (at) => this.inspect(at),
      },
      position,
      target as HTMLElement,
      isPress,
    );
  }

  /** Opens the find bar. */
  async find(): Promise<void> {
    const loaded = await this.load(import("./find-bar.js"));
    if (loaded === undefined) return;
    this.#find ??= new loaded.FindBar({
      ...this.#common,
      active: () => this.#grid.active,
      goTo: (position) => this.#grid.show(position),
      mark: (marks) => this.#grid.mark(marks),
    });
    await this.#find.open();
  }

  /** Ctrl+F opens the find bar, Escape stops copying. */
  onKey(event: KeyboardEvent): void {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (event.key === "Escape" && this.bar.cancel()) event.stopPropagation();
    else if (isCommand && event.key.toLowerCase() === "f") {
      event.preventDefault();
      void this.find();
    }
  }

  /** Loads the filter bar for a filter that no tool has set. */
  async loadFilterBar(): Promise<void> {
    if (this.#filterBar !== undefined) return;
    await this.load(import("./filter-bar.js"));
    this.#host.requestUpdate();
  }

  /** The filter bar, once it is loaded. */
  renderFilter(filter: Predicate | null) {
    return this.#filterBar?.filterBar(filter, (rest) => {
      this.#host.filter = rest;
    });
  }

  /** The find bar, if it is open. */
  renderFind() {
    return this.#find?.render() ?? nothing;
  }

  /** The inspector, if it is open. */
  renderInspector() {
    return this.#inspector?.render() ?? nothing;
  }

  /** Resets all tools, because other rows follow. */
  reset(): void {
    this.bar.reset();
    this.#activated = undefined;
    this.#inspector?.close();
    this.#find?.again();
  }

  /**
   * Loads a tool with its styles; undefined, with a message in the bar, if that fails. The filter bar comes with any
   * tool, because one that came later than its filter would move what the mouse is at.
   */
  async load<T extends { styles: CSSResult }>(loading: Promise<T>): Promise<T | undefined> {
    try {
      const [loaded, filterBar] = await Promise.all([loading, import("./filter-bar.js")]);
      this.#filterBar = filterBar;
      const sheets = this.#host.shadowRoot?.adoptedStyleSheets;
      for (const { styles } of [loaded, filterBar]) {
        const { styleSheet } = styles;
        if (styleSheet !== undefined && !sheets?.includes(styleSheet)) sheets?.push(styleSheet);
      }
      return loaded;
    } catch {
      this.bar.show("This could not be loaded. Reload the page to try again.", true);
      return undefined;
    }
  }
}
