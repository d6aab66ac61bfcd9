import type { Found } from "../api/row-reader.js";
import type { CellPosition } from "../grid/keyboard.js";

/** The cells that contain a text, in reading order. Grows while rows are searched. */
export class Matches {
  readonly #cells: CellPosition[] = [];
  #current = -1;

  get count(): number {
    return this.#cells.length;
  }

  /** The current match, counted from 1; 0 for none. */
  get number(): number {
    return this.#current + 1;
  }

  get current(): CellPosition | undefined {
    return this.#cells[this.#current];
  }

  /** All cells so far. */
  get cells(): readonly CellPosition[] {
    return this.#cells;
  }

  /** Appends matches; `names` are those of the shown columns. */
  add({ matches }: Found, names: readonly string[]): void {
    const positions = new Map<string, number[]>();
    names.forEach((name, column) => {
      positions.set(name, [...(positions.get(name) ?? []), column]);
    });
    for (const { row, columns } of matches) {
      const found = new Set(columns.flatMap((name) => positions.get(name) ?? []));
      for (const column of [...found].sort((a, b) => a - b)) this.#cells.push({ row, column });
    }
  }

  /** Moves to the first match at or after a cell; false if there is none. */
  goFrom({ row, column }: CellPosition): boolean {
    let low = 0;
    let high = this.#cells.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const cell = this.#cells[middle] as CellPosition;
      if (cell.row < row || (cell.row === row && cell.column < column)) low = middle + 1;
      else high = middle;
    }
    if (low === this.#cells.length) return false;
    this.#current = low;
    return true;
  }

  /** Moves to the next match, or with −1 to the previous one; wraps around at the ends. */
  step(by: 1 | -1): CellPosition | undefined {
    const { length } = this.#cells;
    if (length === 0) return undefined;
    const from = this.#current < 0 && by < 0 ? 0 : this.#current;
    this.#current = (from + by + length) % length;
    return this.current;
  }
}
