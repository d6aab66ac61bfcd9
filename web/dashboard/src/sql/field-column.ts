import { distinctNames, type Field, type ViewerField } from "colonnade";
import { type ChartSource, relation } from "../charts/predicate-sql.js";
import { quoteName, quoteText } from "../text/quote.js";

const ARROW_NESTED = /^(?:(?:large_)?list(?:_view)?|fixed_size_list|struct)</;

/** A part of a column's values as an SQL expression: of structs and lists, or of JSON text. */
export function fieldSql({ column, path }: ViewerField, type: string): string {
  const name = quoteName(column);
  if (ARROW_NESTED.test(type)) {
    // SQL counts items from 1.
    const step = (key: string | number) => (typeof key === "number" ? key + 1 : quoteText(key));
    return name + path.map((key) => `[${step(key)}]`).join("");
  }
  const arrow = (index: number) => (index === path.length - 1 ? "->>" : "->");
  const step = (key: string | number) => (typeof key === "number" ? key : quoteText(key));
  return name + path.map((key, index) => arrow(index) + step(key)).join("");
}

/** The statement that adds a part of a column's values as a column to the rows of a source, and its name. */
export function fieldColumn(
  source: ChartSource,
  field: ViewerField,
  fields: readonly Field[],
): { sql: string; name: string } {
  const names = distinctNames(fields.map(({ name }) => name));
  const type = fields[names.indexOf(field.column)]?.type ?? "";
  const wanted = [field.column, ...field.path].join(".");
  const name = distinctNames([...names, wanted]).at(-1) ?? wanted;
  const sql = `SELECT *, ${fieldSql(field, type)} AS ${quoteName(name)} FROM ${relation(source)}`;
  return { sql, name };
}
