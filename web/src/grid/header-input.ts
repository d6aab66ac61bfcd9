import type { GridHeader } from "./header.js";

/** The actions at a header; columns are counted from 0, as shown. */
export interface HeaderCallbacks {
  /** Toggle the sort by a column; `isAdded`: as a further key after the present ones. */
  onSort(column: number, isAdded: boolean): void;
  /** Show the menu of a column. */
  onMenu(column: number): void;
  /** Widen a column by so much, relative to its width when the gesture began. */
  onWiden(column: number, byPx: number, phase: "begin" | "drag" | "end"): void;
  /** Fit a column to its texts. */
  onFit(column: number): void;
  /** A column was dropped on another. */
  onMove(column: number, to: number): void;
}

/** A press that moves less than this is a click. */
const DRAG_PX = 5;
const WIDEN_PX = 10;

/** A press on the header, until it is a click or a gesture. */
interface Press {
  column: number;
  startPx: number;
  part: HeaderPart;
  isDragged: boolean;
}

type HeaderPart = "edge" | "menu" | "cell";

/** Mouse, touch and keyboard at the header. */
export class HeaderInput {
  readonly #header: GridHeader;
  readonly #callbacks: HeaderCallbacks;
  #press: Press | undefined;

  constructor(header: GridHeader, callbacks: HeaderCallbacks) {
    this.#header = header;
    this.#callbacks = callbacks;
    const { element } = header;
    element.addEventListener("click", (event) => this.#onClick(event));
    element.addEventListener("dblclick", (event) => {
      const column = header.columnOf(event.target);
      if (column !== undefined && isWithin(event, ".edge")) callbacks.onFit(column);
    });
    element.addEventListener("contextmenu", (event) => {
      const column = header.columnOf(event.target);
      if (column === undefined) return;
      event.preventDefault();
      callbacks.onMenu(column);
    });
    element.addEventListener("pointerdown", (event) => this.#onPress(event));
    element.addEventListener("pointermove", (event) => this.#onDrag(event));
    element.addEventListener("pointerup", (event) => this.#onRelease(event, true));
    element.addEventListener("pointercancel", (event) => this.#onRelease(event, false));
  }

  /** Handles a key at the header of a column; false if the key has no meaning there. */
  onKey(event: KeyboardEvent, column: number): boolean {
    if (event.ctrlKey || event.metaKey) return false;
    const { onSort, onMenu, onMove } = this.#callbacks;
    const modifier = `${event.altKey ? "Alt+" : ""}${event.shiftKey ? "Shift+" : ""}`;
    switch (modifier + event.key) {
      case "Enter":
      case " ":
        onSort(column, false);
        break;
      case "Shift+Enter":
      case "Shift+ ":
        onSort(column, true);
        break;
      case "Alt+ArrowDown":
        onMenu(column);
        break;
      case "Shift+ArrowLeft":
      case "Shift+ArrowRight":
        onMove(column, column + (event.key === "ArrowLeft" ? -1 : 1));
        break;
      case "Alt+ArrowLeft":
      case "Alt+ArrowRight":
        this.#widen(column, event.key === "ArrowLeft" ? -WIDEN_PX : WIDEN_PX);
        break;
      default:
        return false;
    }
    event.preventDefault();
    return true;
  }

  #widen(column: number, byPx: number): void {
    this.#callbacks.onWiden(column, 0, "begin");
    this.#callbacks.onWiden(column, byPx, "end");
  }

  #onClick(event: MouseEvent): void {
    // A click without details comes from an assistive device, which presses nothing.
    const press = event.detail === 0 ? undefined : this.#press;
    this.#press = undefined;
    // With Ctrl or Cmd a click selects the column.
    if (press?.isDragged || event.ctrlKey || event.metaKey) return;
    // What a still mouse pressed counts, because columns may move before the release.
    const isStill = press !== undefined && Math.abs(event.clientX - press.startPx) < DRAG_PX;
    const column = isStill ? press.column : this.#header.columnOf(event.target);
    const part = isStill ? press.part : partOf(event);
    if (column === undefined || part === "edge") return;
    if (part === "menu") this.#callbacks.onMenu(column);
    else this.#callbacks.onSort(column, event.shiftKey);
  }

  #onPress(event: PointerEvent): void {
    this.#press = undefined;
    const column = this.#header.columnOf(event.target);
    if (column === undefined || event.button !== 0 || event.ctrlKey || event.metaKey) return;
    this.#press = { column, startPx: event.clientX, part: partOf(event), isDragged: false };
  }

  #onDrag(event: PointerEvent): void {
    // A release outside of the header is not reported.
    if (event.buttons === 0) this.#press = undefined;
    const press = this.#press;
    if (press === undefined || press.part === "menu") return;
    // A finger on the header scrolls; with touch, columns are moved by their menu.
    if (press.part === "cell" && event.pointerType === "touch") return;
    const byPx = event.clientX - press.startPx;
    if (!press.isDragged) {
      if (press.part === "cell" && Math.abs(byPx) < DRAG_PX) return;
      press.isDragged = true;
      // Captured only now, because capture on press would take the target from clicks.
      this.#header.element.setPointerCapture(event.pointerId);
      if (press.part === "edge") this.#callbacks.onWiden(press.column, 0, "begin");
    }
    if (press.part === "edge") this.#callbacks.onWiden(press.column, byPx, "drag");
    else this.#header.showDrop(press.column, this.#header.columnAt(event.clientX));
  }

  #onRelease(event: PointerEvent, isDone: boolean): void {
    const press = this.#press;
    if (!isDone) this.#press = undefined;
    if (press === undefined || !press.isDragged) return;
    const { column } = press;
    if (press.part === "edge") {
      this.#callbacks.onWiden(column, event.clientX - press.startPx, "end");
      return;
    }
    this.#header.showDrop(column, undefined);
    const to = this.#header.columnAt(event.clientX);
    if (isDone && to !== undefined && to !== column) this.#callbacks.onMove(column, to);
  }
}

function partOf(event: Event): HeaderPart {
  if (isWithin(event, ".menu")) return "menu";
  return isWithin(event, ".edge") ? "edge" : "cell";
}

function isWithin({ target }: Event, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}
