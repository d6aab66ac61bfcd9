import type { GridHeader } from "./header.js";

/** What was asked for at a header; columns are counted from 0, as they are shown. */
export interface HeaderCallbacks {
  /** Sort by a column, or the other way round; `isAdded`: after those that rows are sorted by. */
  onSort(column: number, isAdded: boolean): void;
  /** Show what else can be done with a column. */
  onMenu(column: number): void;
}

/** Mouse and keyboard at the header. */
export class HeaderInput {
  readonly #callbacks: HeaderCallbacks;

  constructor(header: GridHeader, callbacks: HeaderCallbacks) {
    this.#callbacks = callbacks;
    header.element.addEventListener("click", (event) => {
      const column = header.columnOf(event.target);
      if (column === undefined) return;
      if (isWithin(event, ".menu")) callbacks.onMenu(column);
      else callbacks.onSort(column, event.shiftKey);
    });
    header.element.addEventListener("contextmenu", (event) => {
      const column = header.columnOf(event.target);
      if (column === undefined) return;
      event.preventDefault();
      callbacks.onMenu(column);
    });
  }

  /** Does what a key means at the header of a column; false where it means nothing there. */
  onKey(event: KeyboardEvent, column: number): boolean {
    if (event.ctrlKey || event.metaKey) return false;
    switch (`${event.altKey ? "Alt+" : ""}${event.key}`) {
      case "Enter":
      case " ":
        this.#callbacks.onSort(column, event.shiftKey);
        break;
      case "Alt+ArrowDown":
        this.#callbacks.onMenu(column);
        break;
      default:
        return false;
    }
    event.preventDefault();
    return true;
  }
}

function isWithin({ target }: Event, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}
