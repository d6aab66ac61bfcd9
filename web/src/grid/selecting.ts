import type { CellRect } from "./cache.js";
import { type CellPosition, commandLetter, type Extent } from "./keyboard.js";
import { cellSelection, extended, type Selection, selectionRect } from "./selection.js";

/** The grid of a selection. */
export interface SelectingGrid {
  readonly element: HTMLElement;
  /** The layer over the cells that does not scroll. */
  readonly layer: HTMLElement;
  readonly extent: Extent;
  /** The cell at a position of the viewport; the nearest one if there is none. */
  cellAt(clientX: number, clientY: number): CellPosition;
  /** Makes a cell the active one, scrolls it into view and focuses it. */
  activate(position: CellPosition): void;
  /** The lower right corner of a cell in the layer, in px; undefined if it is not visible. */
  cornerOf(position: CellPosition): { xPx: number; yPx: number } | undefined;
  /** Gives the focus to the active cell. */
  focus(): void;
  redraw(): void;
  onSelect(): void;
}

/** The touch target of the handle. */
const HANDLE_PX = 32;
/** How often a drag beyond the edge scrolls. */
const DRAG_SCROLL_MS = 50;

/**
 * The selection, and selecting by pointer: click, drag, Shift+click, row numbers, and column headers
 * with Ctrl or Cmd. A finger scrolls; it selects with the handle at the selection's corner.
 */
export class Selecting {
  readonly #grid: SelectingGrid;
  readonly #handle = document.createElement("div");
  #selection: Selection | undefined;
  #pointer = "mouse";
  #endDrag: (() => void) | undefined;

  constructor(grid: SelectingGrid) {
    this.#grid = grid;
    this.#handle.className = "handle";
    this.#handle.setAttribute("aria-hidden", "true");
    this.#handle.hidden = true;
    grid.layer.append(this.#handle);
    grid.element.addEventListener("pointerdown", ({ pointerType }) => {
      this.#pointer = pointerType;
      grid.redraw();
    });
    grid.element.addEventListener("mousedown", (event) => this.#onMouseDown(event));
    this.#handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.#drag();
    });
  }

  get selection(): Selection | undefined {
    return this.#selection;
  }

  /** The selected cells; undefined if nothing is selected. */
  get rect(): CellRect | undefined {
    const { numRows, numColumns } = this.#grid.extent;
    return this.#selection && selectionRect(this.#selection, numRows, numColumns);
  }

  /** Sets the selection; nothing is selected if undefined. */
  select(selection: Selection | undefined): void {
    const isSame = JSON.stringify(selection) === JSON.stringify(this.#selection);
    if (isSame) return;
    this.#selection = selection;
    this.#grid.redraw();
    this.#grid.onSelect();
  }

  /** Extends the selection to a cell if `isExtending`, else selects that cell alone. */
  moveTo(position: CellPosition, from: CellPosition, isExtending: boolean): void {
    this.select(
      isExtending
        ? extended(this.#selection ?? cellSelection(from), position)
        : cellSelection(position),
    );
  }

  /** Selects by keys: Ctrl+A all, Shift+Space the row, Ctrl+Space the column, Escape one cell. */
  onKey(event: KeyboardEvent, active: CellPosition): boolean {
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.altKey) return false;
    const isSpace = event.key === " ";
    if (commandLetter(event) === "a") {
      this.select({ kind: "all", anchor: { row: 0, column: 0 }, head: active });
    } else if (isSpace && event.shiftKey !== isCommand) {
      this.select({ kind: isCommand ? "columns" : "rows", anchor: active, head: active });
    } else if (event.key === "Escape" && this.#selection !== undefined) {
      this.select(cellSelection(active));
    } else return false;
    return true;
  }

  /** Moves the handle to the end of the selection. */
  draw(): void {
    const { rect } = this;
    const corner =
      this.#pointer === "touch" && rect !== undefined
        ? this.#grid.cornerOf({ row: rect.rowEnd - 1, column: rect.columnEnd - 1 })
        : undefined;
    this.#handle.hidden = corner === undefined;
    if (corner === undefined) return;
    // At an edge it stays fully visible.
    const { clientWidth, clientHeight } = this.#grid.layer;
    const xPx = Math.min(corner.xPx, clientWidth - HANDLE_PX / 2);
    const yPx = Math.min(corner.yPx, clientHeight - HANDLE_PX / 2);
    this.#handle.style.transform = `translate(${xPx}px, ${yPx}px)`;
  }

  /** Clears the selection and ends a drag, because other cells follow. */
  forget(): void {
    this.#endDrag?.();
    this.select(undefined);
  }

  #onMouseDown(event: MouseEvent): void {
    const { target, button, shiftKey, clientX, clientY } = event;
    const grid = this.#grid;
    if (button !== 0 || !(target instanceof Element) || grid.extent.numRows === 0) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const at = grid.cellAt(clientX, clientY);
    const { selection } = this;
    if (target.closest(".cell") !== null) {
      // The browser would scroll the cell into view, with a wrong idea of its position.
      event.preventDefault();
      this.select(shiftKey ? extended(selection, at) : cellSelection(at));
      grid.activate(at);
    } else if (target.closest(".number") !== null) {
      event.preventDefault();
      const head = { row: at.row, column: 0 };
      const anchor = shiftKey && selection?.kind === "rows" ? selection.anchor : head;
      this.select({ kind: "rows", anchor, head });
      grid.activate(head);
    } else if (isCommand && target.closest(".header-cell") !== null) {
      event.preventDefault();
      event.stopPropagation();
      const head = { row: 0, column: at.column };
      const anchor = shiftKey && selection?.kind === "columns" ? selection.anchor : head;
      this.select({ kind: "columns", anchor, head });
      grid.focus();
    } else return;
    if (this.#pointer !== "touch") this.#drag();
  }

  /** Extends the selection to the pointer until it is released; scrolls while it is beyond the edge. */
  #drag(): void {
    this.#endDrag?.();
    const begun = this.#selection;
    if (begun === undefined) return;
    const { kind } = begun;
    const onMove = ({ clientX, clientY }: PointerEvent): void => {
      position = { clientX, clientY };
      follow();
    };
    let position: { clientX: number; clientY: number } | undefined;
    const follow = (): void => {
      if (position === undefined) return;
      const at = this.#grid.cellAt(position.clientX, position.clientY);
      const head =
        kind === "rows" ? { ...at, column: 0 } : kind === "columns" ? { ...at, row: 0 } : at;
      const now = this.#selection?.head;
      if (head.row === now?.row && head.column === now.column) return;
      this.select({ ...begun, kind: kind === "all" ? "cells" : kind, head });
      if (kind !== "columns") this.#grid.activate(head);
    };
    const timer = setInterval(follow, DRAG_SCROLL_MS);
    const end = (): void => {
      clearInterval(timer);
      removeEventListener("pointermove", onMove);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      this.#endDrag = undefined;
    };
    addEventListener("pointermove", onMove);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
    this.#endDrag = end;
  }
}
