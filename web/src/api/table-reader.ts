import type { RowWindow } from "../model/row-window.js";
import type { Schema } from "../model/schema.js";
import { framePainted } from "../rpc/event-loop.js";
import type { Requester } from "../rpc/requester.js";
import { Rows } from "./row-reader.js";

/** The part of a table that its rows are read by. */
interface ArrivingTable {
  readonly schema: Schema;
  readonly numRows: number;
  readonly state: string;
  readonly progress: { totalRows: number | undefined };
}

/** The rows of a table as they arrive. */
export class TableRows extends Rows {
  readonly #table: ArrivingTable;
  /** Whether the worker waits until the first rows are painted. */
  #arePaintedNext: boolean;

  constructor(requester: Requester, table: ArrivingTable, isShown: boolean) {
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
