import type { Table as ArrowTable } from "apache-arrow";
import type { SortKey } from "../model/arrangement.js";
import { distinctNames } from "../model/distinct-names.js";
import { ColonnadeError } from "../model/errors.js";
import { type Predicate, predicateJson } from "../model/predicate.js";
import type { RawRepeats, RawValues } from "../model/raw-column.js";
import { CellKind, RowWindow } from "../model/row-window.js";
import type { Schema } from "../model/schema.js";
import type { Summary } from "../model/summary.js";
import type { KernelWork, ViewInfo } from "../rpc/messages.js";
import type { Requester } from "../rpc/requester.js";

/** Rows `[start, end)`, counted from 0. */
export interface RowRange {
  start: number;
  end: number;
}

/** Options of long-running work. */
export interface WorkOptions {
  /** Stops the work; the promise rejects with `cancelled`. */
  signal?: AbortSignal | undefined;
  /** Called with the fraction that is done, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
}

/** Options of `find`. */
export interface FindOptions extends WorkOptions {
  /** The first row to search; default 0. */
  from?: number | undefined;
  /** Names of the columns to search; default all. */
  columns?: readonly string[] | undefined;
  /** The most rows to find; default 100. */
  limit?: number | undefined;
  /** Whether the search is case-sensitive; default false. */
  matchCase?: boolean | undefined;
}

/** Options of `summary`. */
export interface SummaryOptions extends WorkOptions {
  /** A text column with more distinct values than this gets no `top`; default 1,048,576. */
  maxCounted?: number | undefined;
  /**
   * How many of the most frequent texts or booleans are wanted, at most 1000. The summary is then that of these rows
   * alone, also for a view: it cannot be compared with the table's. Default: ten.
   */
  top?: number | undefined;
  /** @internal Waits while other work runs. */
  isBackground?: boolean | undefined;
}

/** The result of `find`. */
export interface Found {
  /** Rows with a cell that contains the text, and the columns of those cells. */
  matches: { row: number; columns: string[] }[];
  /** The row to continue from; null once all rows were searched. */
  next: number | null;
  /** The number of rows that were searched. */
  searched: number;
}

/** Values of a column. */
export interface ColumnValues {
  /**
   * Integers and floats are in the typed array of their width (half floats in a Float32Array,
   * booleans as 0 and 1). Dates, times, timestamps and durations are integers of their unit. All
   * other types are exact texts. A null is 0 or the empty text.
   */
  values:
    | Int8Array
    | Int16Array
    | Int32Array
    | BigInt64Array
    | Uint8Array
    | Uint16Array
    | Uint32Array
    | BigUint64Array
    | Float32Array
    | Float64Array
    | string[];
  /** 1 for a value, 0 for null. */
  validity: Uint8Array;
}

const MAX_COUNTED = 2 ** 20;

const ARRAYS = {
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
  bool: Uint8Array,
};

/** Reads, sorts, filters, searches and summarises rows in the worker: the base of tables and views. */
export abstract class RowReader {
  /** @internal */
  readonly requester: Requester;
  readonly #id: number;

  /** @internal */
  constructor(requester: Requester, view: number) {
    this.requester = requester;
    this.#id = view;
  }

  abstract get schema(): Schema;

  /** Rows that can be read. */
  abstract get numRows(): number;

  /**
   * Returns the exact texts of rows `[start, end)`, row by row; null for a null. The range is clamped
   * to the existing rows.
   *
   * @param columns names or positions; default all. If two columns are called `a`, the second one is
   *   `a (2)`, here and wherever a column is named.
   */
  async text(
    range: RowRange,
    columns?: readonly (string | number)[],
  ): Promise<(string | null)[][]> {
    const indices = this.#columnIndices(columns);
    const window = await this.window(range, indices, 0);
    const rows: (string | null)[][] = [];
    for (let row = window.start; row < window.end; row++) {
      const texts: (string | null)[] = [];
      for (let position = 0; position < indices.length; position++) {
        const isNull = window.kind(row, position) === CellKind.null;
        texts.push(isNull ? null : window.text(row, position));
      }
      rows.push(texts);
    }
    return rows;
  }

  /**
   * Returns a rectangle of cells for display, in one call to the worker. The range is clamped to the
   * existing rows.
   *
   * @param columns the columns' positions in the schema.
   * @param maxChars texts longer than this are cut; 0 for no limit.
   */
  async window(
    range: RowRange,
    columns: Uint32Array,
    maxChars: number,
    signal?: AbortSignal,
  ): Promise<RowWindow> {
    const { start, end } = await this.#clamp(range, signal);
    const params = { view: this.#id, start, end, columns, maxChars };
    const packed = await this.requester.request("window", params, { signal });
    return new RowWindow(packed, start, end, columns.length);
  }

  /**
   * Returns the exact values of rows `[start, end)` of one column. The range is clamped to the
   * existing rows.
   *
   * @param column its name or position.
   */
  async values(column: string | number, range: RowRange): Promise<ColumnValues> {
    const { start, end } = await this.#clamp(range);
    const [index = 0] = this.#columnIndices([column]);
    const params = { view: this.#id, column: index, start, end };
    const raw = await this.requester.request("values", params);
    if (raw.kind === "repeats") return repeatedTexts(raw);
    if (raw.kind !== "texts") return typedValues(raw);
    const window = new RowWindow(raw.texts, start, end, 1);
    return { values: window.texts(0), validity: window.validity(0) };
  }

  /**
   * Returns a view of the same rows, sorted by the first key and, where it is equal, by the next.
   * Ties keep their order. Nulls come last in both directions, after NaN. −0 equals 0; text is
   * compared by its UTF-8 bytes. The view does not include rows that arrive later.
   *
   * Resolves when the first rows can be read. The others are sorted meanwhile (see {@link View.done}), and
   * whatever needs them waits; `signal` and `onProgress` are used until the end.
   */
  async sort(keys: readonly SortKey[], options: WorkOptions = {}): Promise<View> {
    const plain = keys.map(({ column, descending }) => ({
      column,
      descending: descending === true,
    }));
    return this.#view({ kind: "sort", view: this.#id, keys: plain }, options);
  }

  /**
   * Returns a view of the rows for which a predicate is true, in their present order. A comparison
   * with null is neither true nor false, as in SQL. The view does not include rows that arrive later.
   */
  async filter(predicate: Predicate, options: WorkOptions = {}): Promise<View> {
    const json = predicateJson(predicate);
    return this.#view({ kind: "filter", view: this.#id, predicate: json }, options);
  }

  /** Finds the next rows with a cell whose displayed text contains `text`. */
  async find(text: string, options: FindOptions = {}): Promise<Found> {
    const { from = 0, limit = 100, matchCase = false } = options;
    const columns = options.columns === undefined ? undefined : [...options.columns];
    const find = { text, from, limit, columns, matchCase };
    const work = { kind: "find" as const, view: this.#id, find };
    return JSON.parse((await this.run(work, options)) as string) as Found;
  }

  /**
   * Returns a summary of a column of these rows. The summary of a view can be compared with that of its
   * table: its histogram has the same bins, and its `top` contains the values that are most frequent in the
   * table, with their counts in the view. A repeated call continues with the rows that arrived since the
   * last one; if an extreme has changed, the histogram is counted again.
   */
  async summary(column: string, options: SummaryOptions = {}): Promise<Summary> {
    const { maxCounted = MAX_COUNTED, top, isBackground } = options;
    const view = this.#id;
    const work = { kind: "summary" as const, column, maxCounted, view, top, isBackground };
    return JSON.parse((await this.run(work, options)) as string) as Summary;
  }

  /** @internal */
  run(work: KernelWork, { signal, onProgress }: WorkOptions): Promise<ViewInfo | string> {
    return this.requester.run("run", { work }, signal, onProgress);
  }

  async #view(work: KernelWork, options: WorkOptions): Promise<View> {
    const info = (await this.run(work, options)) as ViewInfo;
    return new View(this.requester, this.schema, info, options);
  }

  /** Returns the number of rows that can be read; a subclass may first look for rows up to `end`. */
  protected async reach(_end: number, _signal?: AbortSignal): Promise<number> {
    return this.numRows;
  }

  async #clamp({ start, end }: RowRange, signal?: AbortSignal): Promise<RowRange> {
    const clampedEnd = clampRow(end, await this.reach(end, signal));
    return { start: clampRow(start, clampedEnd), end: clampedEnd };
  }

  #columnIndices(columns: readonly (string | number)[] | undefined): Uint32Array {
    const { fields } = this.schema;
    if (columns === undefined) return Uint32Array.from(fields, (_, index) => index);
    const names = columns.some((column) => typeof column === "string")
      ? distinctNames(fields.map(({ name }) => name))
      : [];
    return Uint32Array.from(columns, (column) => {
      const index = typeof column === "number" ? column : names.indexOf(column);
      if (fields[index] === undefined) {
        throw new ColonnadeError("unknown_column", `There is no column ${column}.`);
      }
      return index;
    });
  }
}

/** Releases views that were garbage collected. */
const forgotten = new FinalizationRegistry<() => void>((release) => release());

/**
 * Rows of a table in some order: a filtered or sorted view, made by `sort` and `filter`, or the rows that the element
 * shows.
 */
export class View extends RowReader {
  readonly #id: number;
  readonly #schema: Schema;
  readonly #numRows: number;
  readonly #done: Promise<void>;
  #isDone: boolean;

  /** @internal */
  constructor(
    requester: Requester,
    schema: Schema,
    { view, numRows, isDone }: ViewInfo,
    { signal, onProgress }: WorkOptions = {},
  ) {
    super(requester, view);
    this.#schema = schema;
    this.#numRows = numRows;
    this.#id = view;
    this.#isDone = isDone;
    const done = isDone ? undefined : requester.run("finishSort", { view }, signal, onProgress);
    if (!isDone) {
      const cancel = () => requester.send("cancelSort", { view });
      signal?.addEventListener("abort", cancel, { once: true });
    }
    this.#done = Promise.resolve(done).then(() => {
      this.#isDone = true;
    });
    // No unhandled rejection: reads reject as well.
    this.#done.catch(() => undefined);
    if (view !== 0) forgotten.register(this, () => release(requester, view), this);
  }

  /**
   * Resolves when all rows have their places. Rejects if the sort was cancelled or failed; rows of this view can then
   * no longer be read.
   */
  get done(): Promise<void> {
    return this.#done;
  }

  /** Whether all rows have their places. Until then, requests for rows wait for them. */
  get isDone(): boolean {
    return this.#isDone;
  }

  get schema(): Schema {
    return this.#schema;
  }

  get numRows(): number {
    return this.#numRows;
  }

  /**
   * Returns the row number in the table of the view's row `index`; undefined beyond the last row, and null if the
   * server ordered the rows.
   */
  async rowNumber(index: number): Promise<number | null | undefined> {
    if (!(index >= 0 && index < this.numRows)) return undefined;
    const numbers = await this.rowNumbers({ start: index, end: index + 1 });
    return numbers === null ? null : numbers[0];
  }

  /** Returns the row numbers in the table of the view's rows `[start, end)`; null if the server ordered the rows. */
  rowNumbers({ start, end }: RowRange): Promise<Uint32Array | null> {
    const params = {
      view: this.#id,
      start: clampRow(start, this.numRows),
      end: clampRow(end, this.numRows),
    };
    return this.requester.request("rowNumbers", params);
  }

  /** Like {@link Table.toArrow}, for these rows in their order. */
  async toArrow(options: { signal?: AbortSignal | undefined } = {}): Promise<ArrowTable> {
    const { arrowTable } = await import("./arrow.js");
    const stream = () => this.requester.request("stream", null, options);
    const rows = () => this.rowNumbers({ start: 0, end: this.numRows });
    return arrowTable(this.schema, stream, this.#id === 0 ? undefined : rows);
  }

  /** Releases the memory of the view; it must not be read afterwards. */
  close(): void {
    forgotten.unregister(this);
    release(this.requester, this.#id);
  }
}

function release(requester: Requester, view: number): void {
  requester.send("release", { view });
}

function typedValues({ kind, bytes, validity }: RawValues): ColumnValues {
  const { buffer, byteOffset } = bytes;
  return { values: new ARRAYS[kind](buffer, byteOffset, validity.length), validity };
}

function repeatedTexts({ codes, numTexts, texts }: RawRepeats): ColumnValues {
  const window = new RowWindow(texts, 0, numTexts, 1);
  const [distinct, valid] = [window.texts(0), window.validity(0)];
  const values: string[] = new Array(codes.length);
  for (let row = 0; row < codes.length; row++)
    values[row] = distinct[codes[row] as number] as string;
  const validity = new Uint8Array(codes.length).fill(1);
  if (valid.includes(0)) {
    for (let row = 0; row < codes.length; row++)
      validity[row] = valid[codes[row] as number] as number;
  }
  return { values, validity };
}

/** A row number within the existing rows, or the number of rows. */
export function clampRow(row: number, numRows: number): number {
  return Math.max(0, Math.min(Math.trunc(row), numRows));
}
