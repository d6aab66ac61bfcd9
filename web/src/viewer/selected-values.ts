// Loaded when a page asks for values.

import type { ColumnValues } from "../api/row-reader.js";
import type { CellRect } from "../grid/cache.js";
import type { CellPosition } from "../grid/keyboard.js";
import { numCells } from "../grid/selection.js";
import { formatCount } from "../model/counts.js";
import { distinctNames } from "../model/distinct-names.js";
import { ColonnadeError } from "../model/errors.js";
import type { ShownRows } from "./clipboard.js";
import type { SelectedValues, SelectedValuesOptions, ViewerActivation } from "./selected.js";

/**
 * The values of the cells of a rectangle; none if there is none.
 *
 * @throws ColonnadeError `too_large` if there are more than `maxCells`
 */
export async function selectedValues(
  shown: ShownRows | undefined,
  rect: CellRect | undefined,
  { maxCells = 1_000_000 }: SelectedValuesOptions,
): Promise<SelectedValues> {
  if (shown === undefined || rect === undefined) {
    return { columns: [], rows: { start: 0, end: 0 } };
  }
  const { rows, fields, columns } = shown;
  const count = numCells(rect);
  if (count > maxCells) {
    throw new ColonnadeError(
      "too_large",
      `The selection has ${formatCount(count)} cells, more than ${formatCount(maxCells)}.`,
      { hint: "Select fewer cells, or allow more with maxCells." },
    );
  }
  const range = { start: rect.rowStart, end: rect.rowEnd };
  const names = distinctNames(fields.map(({ name }) => name));
  const selected = columns.slice(rect.columnStart, rect.columnEnd);
  const read = selected.map(async (column) => ({
    name: names[column] as string,
    ...(await rows.values(column, range)),
  }));
  return { columns: await Promise.all(read), rows: range };
}

/** What the page is told of a cell that the user activated: with the values of all columns, also of hidden ones. */
export async function activation(
  { rows, fields, columns }: ShownRows,
  { row, column }: CellPosition,
): Promise<ViewerActivation> {
  const range = { start: row, end: row + 1 };
  const names = distinctNames(fields.map(({ name }) => name));
  const values = names.map(async (name, at) => [name, first(await rows.values(at, range))]);
  return {
    row,
    rowNumber: (await rows.rowNumber(row)) ?? null,
    column: names[columns[column] ?? -1] ?? "",
    values: Object.fromEntries(await Promise.all(values)),
  };
}

function first({ values, validity }: ColumnValues) {
  return validity[0] === 1 ? values[0] : null;
}
