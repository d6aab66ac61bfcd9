import type { Field } from "../schema.js";
import type { ReadWindow } from "./cache.js";
import { columnWidthPx } from "./columns.js";
import { TextMeasure } from "./measure.js";

/** Texts measured for the first widths: quick enough for the first frame. */
const MAX_MEASURED_CELLS = 4000;
const MAX_MEASURED_ROWS = 60;
/** Space beside a text in its cell, and slack for tabular figures, which canvas does not know. */
const CELL_PADDING_PX = 26;

/** Column widths that fit names and types, in px. */
export function headerWidths(element: Element, fields: readonly Field[]): number[] {
  const measure = new TextMeasure(element);
  return fields.map((field) => columnWidthPx(headerWidthPx(measure, field), CELL_PADDING_PX));
}

/** Column widths that also fit the first of `numRows` rows, in px. */
export async function cellWidths(
  element: Element,
  fields: readonly Field[],
  read: ReadWindow,
  numRows: number,
): Promise<number[]> {
  const rowsOfCells = Math.ceil(MAX_MEASURED_CELLS / Math.max(1, fields.length));
  const end = Math.min(numRows, MAX_MEASURED_ROWS, rowsOfCells);
  const numColumns = Math.min(fields.length, MAX_MEASURED_CELLS);
  const columns = Uint32Array.from({ length: numColumns }, (_, column) => column);
  const window = await read(0, end, columns, new AbortController().signal);
  const measure = new TextMeasure(element);
  return fields.map((field, column) => {
    let widest = headerWidthPx(measure, field);
    for (let row = window.start; column < numColumns && row < window.end; row++) {
      widest = Math.max(widest, measure.widthPx(window.text(row, column)));
    }
    return columnWidthPx(widest, CELL_PADDING_PX);
  });
}

/** The width of the row numbers, in px. */
export function gutterWidthPx(numRows: number): number {
  // Room for more digits than there are at first, so that streaming rarely widens it.
  const digits = Math.max(4, String(numRows).length);
  return Math.ceil(digits * 7.6 + Math.floor((digits - 1) / 3) * 4 + 22);
}

/** Names are drawn bolder than what is measured, types smaller. */
function headerWidthPx(measure: TextMeasure, field: Field): number {
  return Math.max(measure.widthPx(field.name) * 1.08, measure.widthPx(field.type) * 0.85);
}
