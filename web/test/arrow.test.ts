// Tests `toArrow`: apache-arrow shows the same values as the table, and what it writes reads back the
// same. Or the table reports that apache-arrow cannot read a column.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as Arrow from "apache-arrow";
import { type Table as ArrowTable, DataType, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { takeRows } from "../src/api/arrow-take.js";
import { seededRandom } from "./random.js";
import { readHere, textOf } from "./sources.js";

const random = seededRandom(1);

const wire = fileURLToPath(new URL("../../fixtures/wire", import.meta.url));
const gold = join(process.env.COLONNADE_CONFORMANCE ?? "", "arrow/gold");
const folders = [
  wire,
  ...(existsSync(gold) ? readdirSync(gold).map((set) => join(gold, set)) : []),
];

/** Checks the cells whose text is the same in apache-arrow. */
function expectCells(arrow: ArrowTable, rows: (string | null)[][]): void {
  for (const [index, { name, type }] of arrow.schema.fields.entries()) {
    const vector = arrow.getChildAt(index);
    const isExtension = arrow.schema.fields[index]?.metadata.has("ARROW:extension:name");
    const isPlain = [DataType.isInt, DataType.isUtf8, DataType.isBool, DataType.isLargeUtf8].some(
      (is) => is(type),
    );
    for (const [row, texts] of rows.entries()) {
      const value: unknown = vector?.get(row);
      expect(value === null, `${name} in row ${row}`).toBe(texts[index] === null);
      if (value !== null && isPlain && !isExtension) expect(String(value), name).toBe(texts[index]);
    }
  }
}

for (const folder of folders) {
  for (const name of readdirSync(folder).filter((name) => /(?:stream|arrows)$/.test(name))) {
    if (name === "big_endian.arrows") continue;
    test(`${folder.split("/").at(-1)}/${name}`, async () => {
      const table = await readHere(new Uint8Array(readFileSync(join(folder, name))));
      const rows = await textOf(table);
      let arrow: ArrowTable;
      try {
        arrow = await table.toArrow();
      } catch (error) {
        expect(error).toMatchObject({ code: "unsupported_type" });
        expect(name).toMatch(/^(?:delta|list_views|runs)/);
        return;
      }
      expect(arrow.numRows).toBe(table.numRows);
      expectCells(arrow, rows);
      // apache-arrow writes the offsets of a dense union only for its first batch.
      if (arrow.schema.fields.some(({ type }) => DataType.isDenseUnion(type))) return;
      const again = await readHere(tableToIPC(arrow, "stream"));
      expect(await textOf(again)).toEqual(rows);
      expect(takeRows(Arrow, arrow, new Uint32Array()).schema).toEqual(arrow.schema);
      if (rows.length === 0 || name.startsWith("replaced_nested")) return;
      const order = Uint32Array.from({ length: 20 }, () => Math.floor(random() * rows.length));
      const taken = await readHere(tableToIPC(takeRows(Arrow, arrow, order), "stream"));
      expect(await textOf(taken)).toEqual([...order].map((row) => rows[row]));
    });
  }
}
