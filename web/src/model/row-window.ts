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
  readonly #ends: Uint32Array;
  readonly #kinds: Uint8Array;
  readonly #text: string;

  constructor(packed: Uint8Array<ArrayBuffer>, start: number, end: number, numColumns: number) {
    const numCells = (end - start) * numColumns;
    if (packed.byteLength < numCells * 5) {
      throw new RangeError(`A window of ${numCells} cells cannot be ${packed.byteLength} bytes.`);
    }
    this.start = start;
    this.end = end;
    this.numColumns = numColumns;
    this.#ends = new Uint32Array(packed.buffer, packed.byteOffset, numCells);
    this.#kinds = packed.subarray(numCells * 4, numCells * 5);
    this.#text = utf8.decode(packed.subarray(numCells * 5));
  }

  /**
   * Returns the kind of a cell's value. `row` is the row's number in the table or view. `position` is the
   * column's position in this window, counted from 0.
   */
  kind(row: number, position: number): CellKind {
    return (this.#cell(this.#kinds, row, position) & KIND_MASK) as CellKind;
  }

  /** Whether the text was cut. */
  isCut(row: number, position: number): boolean {
    return (this.#cell(this.#kinds, row, position) & CUT_FLAG) !== 0;
  }

  /** The text; empty for null. */
  text(row: number, position: number): string {
    const index = (row - this.start) * this.numColumns + position;
    const start = index === 0 ? 0 : this.#ends[index - 1];
    return this.#text.slice(start, this.#cell(this.#ends, row, position));
  }

  /** All texts of a column; empty for null. */
  texts(position: number): string[] {
    const [ends, text] = [this.#ends, this.#text];
    const texts: string[] = new Array(this.end - this.start);
    for (let row = 0; row < texts.length; row++) {
      const index = row * this.numColumns + position;
      texts[row] = text.slice(index === 0 ? 0 : ends[index - 1], ends[index]);
    }
    return texts;
  }

  /** For each row of a column, 1 for a value and 0 for null. */
  validity(position: number): Uint8Array {
    const validity = new Uint8Array(this.end - this.start);
    for (let row = 0; row < validity.length; row++) {
      const kind = this.#kinds[row * this.numColumns + position] as number;
      validity[row] = (kind & KIND_MASK) === CellKind.null ? 0 : 1;
    }
    return validity;
  }

  #cell(cells: Uint8Array | Uint32Array, row: number, position: number): number {
    const value = cells[(row - this.start) * this.numColumns + position];
    if (value === undefined) throw new RangeError(`No cell at row ${row}, position ${position}.`);
    return value;
  }
}
