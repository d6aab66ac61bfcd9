import { type CSSResult, nothing } from "lit";
import type { CellRect } from "../grid/cache.js";
import type { Grid } from "../grid/grid.js";
import { type CellPosition, commandLetter } from "../grid/keyboard.js";
import type { CopyOptions, ShownRows } from "./clipboard.js";
import type { FindBar } from "./find-bar.js";
import type { Inspector } from "./inspector.js";
import { gridSelection, type ViewerSelection, viewerSelection } from "./selected.js";
import { SelectionBar } from "./selection-bar.js";

/** The element around the tools. */
export interface ToolsHost {
  requestUpdate(): void;
  /** Draws, and resolves with the render root. */
  draw(): Promise<ParentNode>;
  /** Adds the styles of a module that is loaded late. */
  adopt(styles: CSSResult): void;
  /** The shown rows; undefined if there are none. */
  shown(): ShownRows | undefined;
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
  #inspector: Inspector | undefined;
  #find: FindBar | undefined;

  constructor(grid: Grid, host: ToolsHost) {
    this.#host = host;
    this.#grid = grid;
    this.#common = { ...host, onClose: () => grid.focus() };
    this.bar = new SelectionBar({ ...this.#common, rect: () => grid.selecting.rect });
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
    await this.bar.copy(this.#copied, options);
  }

  /**
   * Copies for the browser's own command. A command in its menu is no gesture in every browser, so cells that need
   * not be read are copied at once.
   */
  copyNow(data: DataTransfer | null | undefined): void {
    // Without TLS there is only the copy command, which comes here again with its data, within the gesture.
    if (data === undefined && !navigator.clipboard && document.execCommand("copy")) return;
    const rect = this.#copied;
    const text = data && this.#grid.plainText(rect);
    if (text) {
      data.setData("text/plain", text);
      this.bar.confirm(rect);
      // The bar shows the error.
    } else this.copy({}).catch(() => undefined);
  }

  get #copied(): CellRect {
    const { row, column } = this.#grid.active;
    const one = { rowStart: row, rowEnd: row + 1, columnStart: column, columnEnd: column + 1 };
    return this.#grid.selecting.rect ?? one;
  }

  /** Shows a whole cell in the inspector. */
  async inspect(position: CellPosition): Promise<void> {
    const loaded = await this.load(import("./inspector.js"));
    if (loaded === undefined) return;
    this.#inspector ??= new loaded.Inspector(this.#common);
    await this.#inspector.open(position);
  }

  /** Opens the find bar. */
  async find(): Promise<void> {
    const loaded = await this.load(import("./find-bar.js"));
    if (loaded === undefined) return;
    this.#find ??= new loaded.FindBar({
      ...this.#common,
      selectedColumns: () => {
        const { rect } = this.#grid.selecting;
        const length = rect ? rect.columnEnd - rect.columnStart : 0;
        return Array.from({ length }, (_, index) => (rect?.columnStart ?? 0) + index);
      },
      active: () => this.#grid.active,
      goTo: (position) => this.#grid.show(position),
      mark: (marks) => this.#grid.mark(marks),
    });
    await this.#find.open();
  }

  /** Ctrl+F opens the find bar, Escape stops copying. */
  onKey(event: KeyboardEvent): void {
    if (event.key === "Escape" && this.bar.cancel()) event.stopPropagation();
    else if (commandLetter(event) === "f") {
      event.preventDefault();
      void this.find();
    }
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
    this.#inspector?.close();
    this.#find?.again();
  }

  /** Loads a tool with its styles; undefined, with a message in the bar, if that fails. */
  async load<T extends { styles: CSSResult }>(loading: Promise<T>): Promise<T | undefined> {
    try {
      const loaded = await loading;
      this.#host.adopt(loaded.styles);
      return loaded;
    } catch {
      this.bar.show("This could not be loaded. Reload the page to try again.", true);
      return undefined;
    }
  }
}
