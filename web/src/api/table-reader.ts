import type { RowWindow } from "../model/row-window.js";
import type { Schema } from "../model/schema.js";
import { framePainted } from "../rpc/event-loop.js";
import type { Requester } from "../rpc/requester.js";
import { RowReader } from "./row-reader.js";

/** The part of a table that its reader needs. */
interface ArrivingTable {
  readonly schema: Schema;
  readonly numRows: number;
  readonly state: string;
  readonly progress: { totalRows: number | undefined };
}

/** Reads the rows of a table, even while they arrive. */
export class TableReader extends RowReader {
  readonly #table: ArrivingTable;
  /** Whether the worker waits until the first rows are painted. */
  #isPaintAwaited: boolean;

  constructor(requester: Requester, table: ArrivingTable, isShown: boolean) {
    super(requester, 0);
    this.#table = table;
    this.#isPaintAwaited = isShown;
  }

  get schema(): Schema {
    return this.#table.schema;
  }

  get numRows(): number {
    return this.#table.numRows;
  }

  override async window(...args: Parameters<RowReader["window"]>): Promise<RowWindow> {
    const window = await super.window(...args);
    if (this.#isPaintAwaited && window.end > window.start) {
      this.#isPaintAwaited = false;
      void framePainted().then(() => this.requester.send("painted", null));
    }
    return window;
  }

  /** A windowed table may have more rows than are known, so the worker looks for them. */
  protected override async reach(end: number, signal?: AbortSignal): Promise<number> {
    const { state, progress, numRows } = this.#table;
    const isKnown = state !== "windowed" || progress.totalRows !== undefined || end <= numRows;
    if (isKnown || !Number.isFinite(end)) return numRows;
    return this.requester.request("reach", { end }, { signal });
  }
}
