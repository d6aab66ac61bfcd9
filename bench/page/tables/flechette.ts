import { type Column, type Table, Type, tableFromIPC } from "@uwdata/flechette";
import { sumOf, textValue } from "../checksum.js";
import { type Cells, type ReadTable, SHOWN_ROWS } from "./reader.js";

/** flechette, which needs the whole stream in one buffer. */
export const read: ReadTable = async (url, progress) => {
  const table = tableFromIPC(await (await fetch(url)).arrayBuffer());
  progress.schema();
  progress.firstRows(cellsOf(table, 0, SHOWN_ROWS));
  return {
    numRows: table.numRows,
    cells: async (start, end) => cellsOf(table, start, end),
    touch: async () => touchTable(table),
  };
};

function cellsOf(table: Table, start: number, end: number): Cells {
  const columns = table.schema.fields.map(({ name }) => table.getChild(name));
  return Array.from({ length: Math.min(end, table.numRows) - start }, (_, row) =>
    columns.map((column) => {
      const value = column.at(start + row);
      if (value === null || value === undefined) return null;
      if (column.type.typeId === Type.Date) return new Date(value).toISOString().slice(0, 10);
      return String(value);
    }),
  );
}

/** Sums every value of a table. */
export function touchTable(table: Table): number {
  let total = 0;
  for (let index = 0; index < table.numCols; index++) total += touchColumn(table.getChildAt(index));
  return total;
}

/** Sums numbers and days by their arrays; decimals are floats here, and are counted in hundredths. */
function touchColumn(column: Column<unknown>): number {
  let total = 0;
  const { typeId } = column.type;
  for (const batch of column.data) {
    const { values } = batch as unknown as { values: ArrayLike<number> };
    if (typeId === Type.Float || typeId === Type.Int || typeId === Type.Date)
      total += sumOf(values);
    else if (typeId === Type.Decimal)
      for (const value of batch) total += Math.round((value as number) * 100);
    else for (const text of batch) total += textValue(text as string);
  }
  return total;
}
