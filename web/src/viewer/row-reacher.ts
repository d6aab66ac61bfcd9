import type { Table } from "../api/table.js";

/** Reads rows of a windowed table that are not known yet. */
export class RowReacher {
  #row: number | undefined;

  /** Requests a row, once. Does nothing if it is undefined, or if rows arrive by themselves. */
  reach(table: Table | undefined, row: number | undefined): void {
    if (table?.state !== "windowed" || row === undefined || row === this.#row) return;
    this.#row = row;
    table.window({ start: row, end: row + 1 }, new Uint32Array(), 0).catch(() => this.forget());
  }

  /** Resets for another table. */
  forget(): void {
    this.#row = undefined;
  }
}
