import type { Table } from "../api/table.js";

/** Of a windowed table, a row that nobody knows of yet comes when it is asked for. */
export class RowReacher {
  #row: number | undefined;

  /** Asks for a row, once; with undefined, or where rows come by themselves, for none. */
  reach(table: Table | undefined, row: number | undefined): void {
    if (table?.state !== "windowed" || row === undefined || row === this.#row) return;
    this.#row = row;
    table.window({ start: row, end: row + 1 }, new Uint32Array(), 0).catch(() => this.forget());
  }

  /** Makes the next call ask again: another table follows. */
  forget(): void {
    this.#row = undefined;
  }
}
