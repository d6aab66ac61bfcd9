import { type DataType, type RecordBatch, RecordBatchReader, Type } from "apache-arrow";
import { sumOf, textValue } from "../checksum.js";
import { type Cells, type OpenTable, type ReadTable, SHOWN_ROWS } from "./reader.js";

/** apache-arrow's reader of streams, which returns batches as they arrive. */
export const read: ReadTable = async (url, progress) => {
  const reader = await RecordBatchReader.from(fetch(url));
  await reader.open();
  progress.schema();
  const batches: RecordBatch[] = [];
  for await (const batch of reader) {
    batches.push(batch);
    if (batches.length === 1) progress.firstRows(cellsOf(batches, 0, SHOWN_ROWS));
  }
  return tableOf(batches);
};

/** A table of apache-arrow's batches. */
export function tableOf(batches: RecordBatch[]): OpenTable {
  const numRows = batches.reduce((sum, batch) => sum + batch.numRows, 0);
  return {
    numRows,
    cells: async (start, end) => cellsOf(batches, start, end),
    touch: async () => touchBatches(batches),
  };
}

function cellsOf(batches: RecordBatch[], start: number, end: number): Cells {
  const cells: Cells = [];
  let first = 0;
  for (const batch of batches) {
    const [from, to] = [Math.max(start - first, 0), Math.min(end - first, batch.numRows)];
    for (let row = from; row < to; row++) {
      const record = batch.get(row);
      cells.push(batch.schema.fields.map(({ name, type }) => textOf(type, record?.[name])));
    }
    first += batch.numRows;
  }
  return cells;
}

/** The text that a page would show for a value of the library's `get`. */
function textOf(type: DataType, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (type.typeId === Type.Date) return new Date(value as number).toISOString().slice(0, 10);
  return String(value);
}

/** Sums columns of numbers (without nulls) by their arrays, other columns with the library's iterator. */
export function touchBatches(batches: RecordBatch[]): number {
  let total = 0;
  for (const batch of batches) {
    for (const [index, { type }] of batch.schema.fields.entries()) {
      const column = batch.getChildAt<DataType>(index);
      if (column === null) continue;
      for (const { values, length } of column.data) {
        if (type.typeId === Type.Float || type.typeId === Type.Int) total += sumOf(values);
        else if (type.typeId === Type.Date) total += sumOf(values);
        else if (type.typeId === Type.Decimal) total += sumOfDecimals(values, length);
        else for (const text of column) total += textValue(text as string);
      }
    }
  }
  return total;
}

/** The sum of the unscaled values of positive decimals below 2^53, which are in two of four words. */
function sumOfDecimals(words: Uint32Array, length: number): number {
  let total = 0;
  for (let row = 0; row < length; row++) {
    total += (words[row * 4] as number) + (words[row * 4 + 1] as number) * 2 ** 32;
  }
  return total;
}
