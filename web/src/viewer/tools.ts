import type { Grid } from "../grid/grid.js";
import type { CellPosition } from "../grid/keyboard.js";
import type { CopyOptions, ShownRows } from "./copy.js";
import { FindBar } from "./find-bar.js";
import { Inspector } from "./inspector.js";
import { gridSelection, type ViewerSelection, viewerSelection } from "./selected.js";
import { SelectionBar } from "./selection-bar.js";

/** The element around the tools. */
export interface ToolsHost {
  requestUpdate(): void;
  readonly updateComplete: Promise<boolean>;
}

/** What is done with cells that are looked at: selecting, copying, inspecting, finding. */
export class Tools {
  readonly bar: SelectionBar;
  readonly inspector: Inspector;
  readonly find: FindBar;
  readonly #grid: Grid;

  /** @param shown the rows that are looked at; undefined where there are none */
  constructor(host: ToolsHost, grid: Grid, shown: () => ShownRows | undefined) {
    this.#grid = grid;
    const common = {
      requestUpdate: () => host.requestUpdate(),
      whenUpdated: () => host.updateComplete,
      shown,
      onClose: () => grid.focus(),
    };
    this.bar = new SelectionBar({ ...common, rect: () => grid.selecting.rect });
    this.inspector = new Inspector(common);
    this.find = new FindBar({
      ...common,
      active: () => grid.active,
      goTo: (position: CellPosition) => grid.show(position),
      mark: (marks) => grid.mark(marks),
    });
  }

  /** The selected cells; null where there are none. */
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

  /** Ctrl+F opens the find bar, Escape stops copying. */
  onKey(event: KeyboardEvent): void {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (event.key === "Escape" && this.bar.cancel()) event.stopPropagation();
    else if (isCommand && event.key.toLowerCase() === "f") {
      event.preventDefault();
      void this.find.open();
    }
  }

  /** Forgets everything: other rows follow. */
  reset(): void {
    this.bar.reset();
    this.inspector.close();
    this.find.reset();
  }
}
