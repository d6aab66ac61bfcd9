import { expect, test, vi } from "vitest";
import { type CatalogTable, exampleSql, filterCatalog } from "../src/catalog/catalog.js";
import { CatalogWatch } from "../src/catalog/catalog-watch.js";
import { rowsUrl } from "../src/server/requests.js";
import { nextTheme } from "../src/shell/theme.js";
import { formatBytes, formatRows } from "../src/text/format.js";

function table(name: string, ...columns: string[]): CatalogTable {
  const fields = columns.map((column) => ({ name: column, type: "int64", nullable: true }));
  const known = { format: "parquet", rows: 1, bytes: 1, version: "1", uploaded: false };
  return { name, ...known, fields, left_out: [] };
}

test("tables are filtered by their names and column names", () => {
  const tables = [table("lineitem", "l_orderkey", "l_tax"), table("flights", "delay")];
  const found = (filter: string) => filterCatalog(tables, filter).map(({ name }) => name);
  expect(found("")).toEqual(["lineitem", "flights"]);
  expect(found("LINE")).toEqual(["lineitem"]);
  expect(found("delay fli")).toEqual(["flights"]);
  expect(found("nothing")).toEqual([]);
});

test("files that are not tables come with the list, and servers may not name any", async () => {
  const workbook = { path: "data/sales.xlsx", detail: "an Excel workbook; save it as CSV" };
  const lists = [{ tables: [], left_out: [workbook] }, { tables: [] }];
  vi.stubGlobal("fetch", async () => Response.json(lists.shift()));
  const watch = new CatalogWatch(() => undefined);
  expect(watch.leftOut).toEqual([]);
  await watch.read();
  expect(watch.leftOut).toEqual([workbook]);
  await watch.read();
  expect(watch.leftOut).toEqual([]);
  vi.unstubAllGlobals();
});

test("an example statement counts the values of a column, or shows the first rows", () => {
  expect(exampleSql("my table", undefined)).toBe('SELECT * FROM "my table" LIMIT 50');
  expect(exampleSql("t", "from")).toBe(
    'SELECT "from", count(*) AS rows FROM t GROUP BY "from" ORDER BY rows DESC LIMIT 20',
  );
  expect(exampleSql("t", "rows")).toContain("count(*) AS n FROM t GROUP BY rows ORDER BY n");
});

test("a table name is encoded as one segment of a URL's path", () => {
  expect(rowsUrl("dir.a/b?c")).toBe("/v1/tables/dir.a%2Fb%3Fc/rows");
});

test("counts and sizes are formatted", () => {
  expect(formatRows(6_001_215)).toBe("6,001,215 rows");
  expect(formatRows(1)).toBe("1 row");
  expect(formatBytes(0)).toBe("0 B");
  expect(formatBytes(1536)).toBe("1.5 kB");
  expect(formatBytes(206_000_000)).toBe("206 MB");
});

test("the theme button cycles through the themes", () => {
  expect([nextTheme("auto"), nextTheme("light"), nextTheme("dark")]).toEqual([
    "light",
    "dark",
    "auto",
  ]);
});
