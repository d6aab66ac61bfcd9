/**
 * The kind of a cell's value. `null`: the text is empty. `notFinite`: NaN or an infinity. `raw`: a value that
 * its type cannot show, such as a date beyond the calendar; its text is the stored integer, marked as such.
 * `value`: any other value.
 */
export const CellKind = {
  value: 0,
  null: 1,
  /** NaN or an infinity. */
  notFinite: 2,
  /** A value that its type cannot show; the text is the raw integer, marked as such. */
  raw: 3,
} as const;
export type CellKind = (typeof CellKind)[keyof typeof CellKind];

/** Set beside the kind when the text was cut at the window's `maxChars`. */
const CUT_FLAG = 0x80;
const KIND_MASK = 0x7f;

/** U+FEFF at the beginning is a character of the first cell. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The texts of a rectangle of cells: rows `[start, end)` of some columns.
 *
 * Packed by the decoder, with n = rows × columns, row by row, little-endian:
 *
 *     u32[n]  where each text ends, in UTF-16 code units; it starts where the one before ends
 *     u8[n]   the cell's kind, and 0x80 if its text was cut
 *     …       all texts, UTF-8, without separators
 *
 * One decode makes one string; cells are slices of it, which browsers do without copying.
 */
export class RowWindow {
  /** The first row, counted from 0. */
  readonly start: number;
  /** One after the last row. */
  readonly end: number;
  readonly numColumns: number;
  readonly #cells: Cells;
  /** The positions of the columns in the cells; undefined if these are all of them. */
  readonly #columns: Uint32Array | undefined;

  constructor(packed: Uint8Array<ArrayBuffer>, start: number, end: number, numColumns: number);
  /** @internal Some of the cells, with the positions of its columns. */
  constructor(cells: Cells, start: number, end: number, numColumns: number, columns: Uint32Array);
  constructor(
    packed: Uint8Array<ArrayBuffer> | Cells,
    start: number,
    end: number,
    numColumns: number,
    columns?: Uint32Array,
  ) {
    this.start = start;
    this.end = end;
    this.numColumns = numColumns;
    this.#cells = packed instanceof Uint8Array ? unpack(packed, start, end, numColumns) : packed;
    this.#columns = columns;
  }

  /** @internal Some of the rows and of the columns, which are given by their positions. */
  part(start: number, end: number, columns: Uint32Array): RowWindow {
    return new RowWindow(this.#cells, start, end, columns.length, columns);
  }

  /**
   * Returns the kind of a cell's value. `row` is the row's number in the table or view. `position` is the
   * column's position in this window, counted from 0.
   */
  kind(row: number, position: number): CellKind {
    return (this.#cell(this.#cells.kinds, row, position) & KIND_MASK) as CellKind;
  }

  /** Whether the text was cut. */
  isCut(row: number, position: number): boolean {
    return (this.#cell(this.#cells.kinds, row, position) & CUT_FLAG) !== 0;
  }

  /** The text; empty for null. */
  text(row: number, position: number): string {
    const { ends, text } = this.#cells;
    const end = this.#cell(ends, row, position);
    const index = this.#index(row, position);
    return text.slice(index === 0 ? 0 : ends[index - 1], end);
  }

  /** All texts of a column; empty for null. */
  texts(position: number): string[] {
    const { ends, text, numColumns } = this.#cells;
    const texts: string[] = new Array(this.end - this.start);
    let index = this.#index(this.start, position);
    for (let row = 0; row < texts.length; row++, index += numColumns) {
      texts[row] = text.slice(index === 0 ? 0 : ends[index - 1], ends[index]);
    }
    return texts;
  }

  /** For each row of a column, 1 for a value and 0 for null. */
  validity(position: number): Uint8Array {
    const { kinds, numColumns } = this.#cells;
    const validity = new Uint8Array(this.end - this.start);
    let index = this.#index(this.start, position);
    for (let row = 0; row < validity.length; row++, index += numColumns) {
      validity[row] = ((kinds[index] as number) & KIND_MASK) === CellKind.null ? 0 : 1;
    }
    return validity;
  }

  /** The position of a cell among all cells. */
  #index(row: number, position: number): number {
    const { start, numColumns } = this.#cells;
    return (row - start) * numColumns + (this.#columns?.[position] ?? position);
  }

  #cell(cells: Uint8Array | Uint32Array, row: number, position: number): number {
    const value = cells[this.#index(row, position)];
    if (value === undefined) throw new RangeError(`No cell at row ${row}, position ${position}.`);
    return value;
  }
}

/** Cells that windows share. */
interface Cells {
  /** The first row. */
  start: number;
  numColumns: number;
  ends: Uint32Array;
  kinds: Uint8Array;
  text: string;
}

function unpack(
  packed: Uint8Array<ArrayBuffer>,
  start: number,
  end: number,
  numColumns: number,
): Cells {
  const numCells = (end - start) * numColumns;
  if (packed.byteLength < numCells * 5) {
    throw new RangeError(`A window of ${numCells} cells cannot be ${packed.byteLength} bytes.`);
  }
  return {
    start,
    numColumns,
    ends: new Uint32Array(packed.buffer, packed.byteOffset, numCells),
    kinds: packed.subarray(numCells * 4, numCells * 5),
    text: utf8.decode(packed.subarray(numCells * 5)),
  };
}
