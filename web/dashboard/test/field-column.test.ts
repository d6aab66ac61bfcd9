import { expect, test } from "vitest";
import { fieldColumn, fieldSql } from "../src/sql/field-column.js";

const field = (name: string, type: string) => ({ name, type, nullable: true, metadata: {} });

test("JSON text is read by arrows, the last of which gives text", () => {
  const type = "extension<arrow.json>";
  const path = ["user", "it's", 0, "name"];
  expect(fieldSql({ column: 'a"b', path }, type)).toBe(`"a""b"->'user'->'it''s'->0->>'name'`);
  expect(fieldSql({ column: "p", path: [2] }, "string")).toBe(`"p"->>2`);
});

test("structs and lists are read by subscripts, which count from 1", () => {
  const type = "struct<tags: list<item: struct<x: int64>>>";
  expect(fieldSql({ column: "s", path: ["tags", 0, "x"] }, type)).toBe(`"s"['tags'][1]['x']`);
  expect(fieldSql({ column: "l", path: [1] }, "large_list<item: string>")).toBe(`"l"[2]`);
});

test("a table and a statement get a column whose name is new", () => {
  const fields = [field("id", "int64"), field("s", "struct<x: int64>"), field("s.x", "int64")];
  const s = { column: "s", path: ["x"] };
  expect(fieldColumn({ table: 'a"b' }, s, fields)).toEqual({
    sql: `SELECT *, "s"['x'] AS "s.x (2)" FROM "a""b"`,
    name: "s.x (2)",
  });
  expect(fieldColumn({ sql: "select * from t; -- all" }, s, fields.slice(0, 2))).toEqual({
    sql: `SELECT *, "s"['x'] AS "s.x" FROM (select * from t) AS result`,
    name: "s.x",
  });
});
