import { ColonnadeError } from "../model/errors.js";
import { RowWindow } from "../model/row-window.js";
import type { Schema } from "../model/schema.js";
import { framePainted } from "../rpc/event-loop.js";
import type { FirstCells } from "../rpc/messages.js";
import type { Requester } from "../rpc/requester.js";
import { clampRow, type RowRange, type RowReader, View } from "./row-reader.js";

/** The part of a table that its reader needs. */
interface ArrivingTable {
  readonly schema: Schema;
  readonly numRows: number;
  readonly state: string;
  readonly progress: { totalRows: number | undefined };
}

/** Reads the rows of a table, even while they arrive. */
export class TableReader extends View {
  readonly #table: ArrivingTable;
  /** Whether the worker waits until the first rows are painted. */
  #isPaintAwaited: boolean;
  readonly #isArranged: boolean;
  readonly #firstCells: FirstCells | undefined;
  /** The first cells, which came with the schema, until they are painted. */
  #first: RowWindow | undefined;

  /** @param isArranged whether the server sorted or filtered the rows, so that their numbers are not known */
  constructor(
    requester: Requester,
    table: ArrivingTable,
    firstCells: FirstCells | undefined,
    isArranged: boolean,
  ) {
    super(requester, table.schema, { view: 0, numRows: 0, isDone: true });
    this.#table = table;
    this.#isArranged = isArranged;
    this.#firstCells = firstCells;
    this.#isPaintAwaited = firstCells !== undefined;
  }

  /** Takes the first cells. */
  keepFirst(packed: Uint8Array<ArrayBuffer> | undefined): void {
    const { numRows = 0, numColumns = 0 } = this.#firstCells ?? {};
    const columns = Math.min(numColumns, this.schema.fields.length);
    if (packed) this.#first = new RowWindow(packed, 0, Math.min(numRows, this.numRows), columns);
  }

  override get schema(): Schema {
    return this.#table.schema;
  }

  override get numRows(): number {
    return this.#table.numRows;
  }

  override async rowNumbers({ start, end }: RowRange): Promise<Uint32Array | null> {
    if (this.#isArranged) return null;
    const first = clampRow(start, this.numRows);
    const length = Math.max(0, clampRow(end, this.numRows) - first);
    if (first + length > 2 ** 32) {
      throw new ColonnadeError("too_large", "Row numbers above 4,294,967,295 cannot be given.");
    }
    return Uint32Array.from({ length }, (_, index) => first + index);
  }

  /** Does nothing: the table is closed instead. */
  override close(): void {}

  override async window(...args: Parameters<RowReader["window"]>): Promise<RowWindow> {
    const window = this.#partOfFirst(...args) ?? (await super.window(...args));
    if (this.#isPaintAwaited && window.end > window.start) {
      this.#isPaintAwaited = false;
      void framePainted().then(() => {
        this.#first = undefined;
        this.requester.send("painted", null);
      });
    }
    return window;
  }

  #partOfFirst(...[range, columns, maxChars]: Parameters<RowReader["window"]>) {
    const [first, end] = [this.#first, clampRow(range.end, this.numRows)];
    if (first === undefined || maxChars !== this.#firstCells?.maxChars || end > first.end) return;
    if (columns.some((column) => column >= first.numColumns)) return;
    return first.part(clampRow(range.start, end), end, columns);
  }

  /** A windowed table may have more rows than are known, so the worker looks for them. */
  protected override async reach(end: number, signal?: AbortSignal): Promise<number> {
    const { state, progress, numRows } = this.#table;
    const isKnown = state !== "windowed" || progress.totalRows !== undefined || end <= numRows;
    if (isKnown || !Number.isFinite(end)) return numRows;
    return this.requester.request("reach", { end }, { signal });
  }
}
