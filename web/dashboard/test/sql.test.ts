import { ColonnadeError } from "colonnade";
import { beforeEach, expect, test } from "vitest";
import type { CatalogTable } from "../src/catalog/catalog.js";
import { tablesIn } from "../src/sql/completion.js";
import { diagnosticOf } from "../src/sql/error-position.js";
import { History } from "../src/sql/history.js";
import { withoutExplain } from "../src/sql/plan-panel.js";
import { Statements } from "../src/sql/statements.js";
import { tabAfterKey } from "../src/ui/tab-keys.js";

const stored = new Map<string, string>();
Object.assign(globalThis, {
  localStorage: {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  },
});
beforeEach(() => stored.clear());

function marked(text: string, statement: string, message: string): string | undefined {
  const diagnostic = diagnosticOf(text, statement, new ColonnadeError("sql_error", message));
  return diagnostic && text.slice(diagnostic.from, diagnostic.to);
}

test.each([
  ["select * form t", "found: form at Line: 1, Column: 10", "form"],
  ["select\n 1,\n  2 frm x", "found: x at Line: 3, Column: 9", "x"],
  ["select '🎉🎉', 1 form t", "found: form at Line: 1, Column: 16", "form"],
  ["select 'abc", "Unterminated string literal at Line: 1, Column: 8", "'abc"],
  ["select 1 + \n", "Expected: an expression, found: EOF", "+"],
  ["select ax, x from t", 'there is no column "x"', "x"],
  ["select T.Xy from t", 'there is no column "t.xy"', "Xy"],
  ["select * from nope", 'there is no table "nope"', "nope"],
  ["select FOO(1)", "Invalid function 'foo'. Did you mean 'cot'?", "FOO"],
  ["select 'x', x", 'there is no column "x"', "x"],
  ["select 1/0", "Divide by zero error", undefined],
])("the diagnostic in %s", (sql, message, word) => {
  expect(marked(sql, sql, message)).toBe(word);
});

test("the diagnostic of a part of the text is positioned in that part", () => {
  const text = "select x;\nselect x from t";
  const error = new ColonnadeError("unknown_column", 'there is no column "x"');
  expect(diagnosticOf(text, "select x from t", error)).toMatchObject({ from: 17, to: 18 });
  expect(diagnosticOf(text, "select y", error)).toBeUndefined();
  expect(diagnosticOf(`${text};${text}`, "select x", error, 26)).toMatchObject({
    from: 33,
    to: 34,
  });
  expect(diagnosticOf(text, "select x", error, 26)).toMatchObject({ from: 7, to: 8 });
});

test("the tables of a statement are those it names", () => {
  const tables = ["a", "b", "a b"].map((name) => ({ name }) as CatalogTable);
  const names = (sql: string, current?: string) =>
    tablesIn(sql, { tables, current }).map(({ name }) => name);
  expect(names("select x from b join c")).toEqual(["b"]);
  expect(names('select x from "a b"')).toEqual(["a b"]);
  expect(names("select x")).toEqual(["a", "b", "a b"]);
  expect(names("select x", "a")).toEqual(["a"]);
});

test("statements are stored, and found by their tab or text", () => {
  const statements = new Statements();
  const one = statements.tabFor("select 1", undefined);
  expect(statements.label(one)).toBe("Query 1");
  expect(statements.tabFor("select 1", undefined)).toBe(one);
  const two = statements.open("");
  expect(two.id).toBe(2);
  // An empty or unchanged text is replaced by the statement of the address.
  expect(statements.tabFor("select 2", two.id)).toBe(two);
  expect(two).toMatchObject({ text: "select 2", ran: "select 2" });
  statements.change(one.id, { text: "select 1 -- edited", name: "First" });
  expect(statements.tabFor("select 1", one.id).text).toBe("select 1 -- edited");

  const again = new Statements();
  expect(again.list.map((each) => again.label(each))).toEqual(["First", "Query 2"]);
  expect(again.close(1)?.id).toBe(2);
  expect(again.close(2)).toBeUndefined();
  // The browser's history refers to statements by id, so ids are never reused.
  expect(again.open("x").id).toBe(3);
  again.close(3);
  expect(new Statements().open("y").id).toBe(4);
});

test("the statement of an address never replaces text that was not run", () => {
  const statements = new Statements();
  const one = statements.tabFor("select 1", undefined);
  expect(statements.run("select 2", one.id)).toBe(one);
  statements.change(one.id, { text: "select 2 where" });
  const back = statements.tabFor("select 1", one.id);
  expect(back).toMatchObject({ id: 2, text: "select 1", ran: "select 1" });
  expect(one).toMatchObject({ text: "select 2 where", ran: "select 2" });
  expect(statements.tabFor("select 2", one.id)).toBe(one);
  expect(statements.tabFor("select 1", one.id)).toBe(back);

  const fresh = statements.open("");
  statements.change(fresh.id, { text: "select 3" });
  statements.run("select 3", fresh.id);
  expect(statements.tabFor("", fresh.id)).toMatchObject({ text: "select 3", ran: "" });
  expect(statements.run("select 'example'", fresh.id)).not.toBe(fresh);
  expect(fresh.text).toBe("select 3");

  statements.change(fresh.id, { text: "select 3; select 4" });
  expect(statements.run("select 4", fresh.id)).toBe(fresh);
  expect(statements.tabFor("select 3", fresh.id)).toBe(fresh);
  expect(fresh).toMatchObject({ text: "select 3; select 4", ran: "select 3" });
});

test("two windows keep each other's statements", () => {
  const [one, other] = [new Statements(), new Statements()];
  const mine = one.open("select 1");
  const theirs = other.open("select 2");
  one.change(mine.id, { text: "select 11" });
  other.close(other.open("select 3").id);
  expect([mine.id, theirs.id]).toEqual([1, 2]);
  expect(new Statements().list.map(({ text }) => text)).toEqual(["select 11", "select 2"]);
});

test("the history is sorted newest first, with one entry for repeated runs of a statement", () => {
  const history = new History();
  history.begin("select 1", 1);
  history.end("select 1", { rows: 1, elapsedMs: 5 });
  history.begin("select 2", 2);
  history.begin("select 2", 3);
  history.end("select 1", { rows: 9 });
  history.end("select 2", { error: "sql_error" });
  history.end("select 2", { rows: 9 });
  const expected = [
    { sql: "select 2", atMs: 3, error: "sql_error" },
    { sql: "select 1", atMs: 1, rows: 1, elapsedMs: 5 },
  ];
  expect(history.entries).toEqual(expected);
  expect(new History().entries).toEqual(expected);
  expect(history.matching("2 SEL").map(({ sql }) => sql)).toEqual(["select 2"]);
});

test("two windows share a history of limited size", () => {
  const [one, other] = [new History(), new History()];
  one.begin("select 1", 1);
  other.begin("select 2", 2);
  one.end("select 1", { rows: 1 });
  expect(new History().entries.map(({ sql, rows }) => [sql, rows])).toEqual([
    ["select 2", undefined],
    ["select 1", 1],
  ]);
  for (let atMs = 3; atMs < 40; atMs++) one.begin(`${atMs}${"x".repeat(2 ** 17)}`, atMs);
  const { entries } = new History();
  expect(entries).toHaveLength(7);
  expect(entries[0]?.atMs).toBe(39);
});

test("EXPLAIN is removed from a statement that is explained", () => {
  expect(withoutExplain("EXPLAIN ANALYZE select 1")).toBe("select 1");
  expect(withoutExplain(" explain format tree\nselect 1")).toBe("select 1");
  expect(withoutExplain("select explain from t")).toBe("select explain from t");
});

test("arrow keys cycle through the tabs", () => {
  expect(tabAfterKey("ArrowRight", 2, 3)).toBe(0);
  expect(tabAfterKey("ArrowLeft", 0, 3)).toBe(2);
  expect(tabAfterKey("End", 0, 3)).toBe(2);
  expect(tabAfterKey("a", 0, 3)).toBeUndefined();
});
