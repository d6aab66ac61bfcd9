import type { Requester } from "./actor.js";
import { Rows } from "./rows.js";
import type { Schema } from "./schema.js";
import type { Table } from "./table.js";
import { framePainted } from "./turns.js";
import type { RowWindow } from "./window.js";

/** The rows of a table as they arrive. */
export class TableRows extends Rows {
  readonly #table: Table;
  /** Whether the worker waits until the first rows are painted. */
  #arePaintedNext: boolean;

  constructor(requester: Requester, table: Table, isShown: boolean) {
    super(requester, 0);
    this.#table = table;
    this.#arePaintedNext = isShown;
  }

  get schema(): Schema {
    return this.#table.schema;
  }

  get numRows(): number {
    return this.#table.numRows;
  }

  override async window(...asked: Parameters<Rows["window"]>): Promise<RowWindow> {
    const window = await super.window(...asked);
    if (this.#arePaintedNext && window.end > window.start) {
      this.#arePaintedNext = false;
      const tell = () => this.requester.request("painted", null);
      framePainted()
        .then(tell)
        .catch(() => undefined);
    }
    return window;
  }

  /** Rows of a windowed table that nobody knows of yet may be there all the same. */
  protected override async reach(end: number, signal?: AbortSignal): Promise<number> {
    const { state, progress, numRows } = this.#table;
    const isKnown = state !== "windowed" || progress.totalRows !== undefined || end <= numRows;
    if (isKnown || !Number.isFinite(end)) return numRows;
    return this.requester.request("reach", { end }, { signal });
  }
}
