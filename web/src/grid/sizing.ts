import type { Field } from "../model/schema.js";
import type { ReadWindow } from "./cache.js";
import { columnWidthPx } from "./columns.js";
import { TextMeasure } from "./measure.js";

/** Texts measured for the first widths: few enough for the first frame. */
const MAX_MEASURED_CELLS = 4000;
const MAX_MEASURED_ROWS = 60;
/** Space beside a text in its cell, and slack for tabular figures, which canvas cannot measure. */
const CELL_PADDING_PX = 26;
/** Space for the sort mark. */
const SORT_MARK_PX = 20;
/** Space for the menu button, where it is always shown. */
const MENU_PX = 26;

/** Widths of columns by their headers alone, in px. */
export function headerWidthsPx(element: Element, fields: readonly Field[]): number[] {
  if (fields.length === 0) return [];
  const measure = new TextMeasure(element);
  return fields.map((field) => columnWidthPx(headerTextPx(measure, field), CELL_PADDING_PX));
}

/** Widths of columns by their headers and by texts of rows `[start, end)`, in px. */
export async function rowWidthsPx(
  element: Element,
  fields: readonly Field[],
  columns: readonly number[],
  read: ReadWindow,
  { start, end }: { start: number; end: number },
): Promise<number[]> {
  const measured = Uint32Array.from(columns.slice(0, MAX_MEASURED_CELLS));
  const maxRows = Math.min(MAX_MEASURED_ROWS, Math.ceil(MAX_MEASURED_CELLS / measured.length));
  const last = Math.min(end, start + maxRows);
  const window = await read(start, last, measured, new AbortController().signal);
  const measure = new TextMeasure(element);
  return columns.map((column, position) => {
    const field = fields[column];
    let widestPx = field === undefined ? 0 : headerTextPx(measure, field);
    // Each shape once, because measuring is slow, and digits are equally wide.
    const shapes = new Set<string>();
    for (let row = window.start; row < window.end && position < measured.length; row++) {
      shapes.add(window.text(row, position).replace(/\d/g, "0"));
    }
    for (const shape of shapes) widestPx = Math.max(widestPx, measure.widthPx(shape));
    return columnWidthPx(widestPx, CELL_PADDING_PX);
  });
}

/** The width of the row numbers, in px. */
export function gutterWidthPx(numRows: number): number {
  // Room for more digits than needed at first, so that streaming rarely widens it.
  const digits = Math.max(4, String(numRows).length);
  return Math.ceil(digits * 7.6 + Math.floor((digits - 1) / 3) * 4 + 22);
}

/** The width of a header's text. Names are bolder than the measured font, types are smaller. */
function headerTextPx(measure: TextMeasure, field: Field): number {
  const menuPx = globalThis.matchMedia?.("(hover: none)").matches ? MENU_PX : 0;
  const namePx = measure.widthPx(field.name) * 1.08 + SORT_MARK_PX + menuPx;
  return Math.max(namePx, measure.widthPx(field.type) * 0.85 + menuPx);
}
