import type { Predicate } from "colonnade";
import { quoteName, quoteText } from "../text/quote.js";
import { type Bins, extentSql } from "./bins.js";
import type { Aggregate } from "./chart-spec.js";
import { type ChartField, isFloat, isInteger, valueType } from "./fields.js";
import { type ChartSource, predicateSql, relation, textSql } from "./predicate-sql.js";

/** The rows that a chart aggregates. */
export interface ChartRows {
  source: ChartSource;
  fields: readonly ChartField[];
  filter: Predicate | null;
}

/** With more rows, quantiles are estimates, because exact ones need all values in memory. */
export const MAX_EXACT_ROWS = 20_000_000;
/** With more points, a scatter chart becomes a heat map. */
export const MAX_POINTS = 2000;

/** The most frequent categories of an axis or of colours; `hasOthers` if there are more. */
export interface Categories {
  field: ChartField;
  values: readonly (string | null)[];
  hasOthers: boolean;
}

function from({ source, fields, filter }: ChartRows, ...conditions: string[]): string {
  const all = filter === null ? conditions : [predicateSql(filter, fields), ...conditions];
  const where = all.length > 0 ? ` WHERE ${all.join(" AND ")}` : "";
  return `FROM ${relation(source)}${where}`;
}

/** One row: the number of rows; then for each field the number of plottable values, min and max. */
export function extentQuery(rows: ChartRows, fields: readonly ChartField[]): string {
  const columns = fields.flatMap((field, index) => {
    const value = extentSql(field);
    return [
      `count(${value}) AS n${index}`,
      `min(${value}) AS low${index}`,
      `max(${value}) AS high${index}`,
    ];
  });
  return `SELECT count(*) AS n, ${columns.join(", ")} ${from(rows)}`;
}

/** The most frequent values of a column with their numbers of rows. */
export function topQuery(rows: ChartRows, field: ChartField, limit: number): string {
  return `SELECT ${textSql(field)} AS value, count(*) AS n ${from(rows)} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${limit}`;
}

/** The index of a row's value among categories; the number of categories for all others. */
export function categorySql({ field, values }: Categories): string {
  const text = textSql(field);
  const cases = values.map((value, index) =>
    value === null
      ? `WHEN ${text} IS NULL THEN ${index}`
      : `WHEN ${text} = ${quoteText(value)} THEN ${index}`,
  );
  return cases.length > 0 ? `CASE ${cases.join(" ")} ELSE ${values.length} END` : "0";
}

/** An aggregate of a column; sums of integers are decimals, so that they cannot overflow. */
export function aggregateSql(
  aggregate: Aggregate,
  field: ChartField | undefined,
  numRows: number,
): string {
  if (aggregate === "count" || field === undefined) return "count(*)";
  const column = quoteName(field.name);
  const number = `CAST(${column} AS DOUBLE)`;
  const isExact = isInteger(field) || valueType(field.type).startsWith("decimal");
  switch (aggregate) {
    case "sum":
      if (isInteger(field)) return `sum(arrow_cast(${column}, 'Decimal128(38, 0)'))`;
      return `sum(${isExact ? column : number})`;
    case "mean":
      return `avg(${number})`;
    case "median":
      if (numRows > MAX_EXACT_ROWS) return `approx_median(${number})`;
      return `median(${isExact ? column : number})`;
    default:
      return `${aggregate}(${isExact ? column : number})`;
  }
}

/** Rows of `[bin or category, series, value, rows]`, sorted by the first two. */
export function seriesQuery(
  rows: ChartRows,
  axis: Bins | Categories,
  group: Categories | undefined,
  value: string,
): string {
  const isBins = "sql" in axis;
  const binSql = isBins ? axis.sql : categorySql(axis);
  const series = group === undefined ? "0" : categorySql(group);
  const columns = `${wholeSql(binSql)} AS bin, ${wholeSql(series)} AS series, ${value} AS value, count(*) AS n`;
  const placed = isBins ? [`(${binSql}) IS NOT NULL`] : [];
  return `SELECT ${columns} ${from(rows, ...placed)} GROUP BY 1, 2 ORDER BY 1, 2`;
}

/** The 2-D histogram of a heat map: rows of `[x bin, y bin, rows]`. */
export function heatMapQuery(rows: ChartRows, x: Bins, y: Bins): string {
  const placed = [`(${x.sql}) IS NOT NULL`, `(${y.sql}) IS NOT NULL`];
  const columns = `${wholeSql(x.sql)} AS x, ${wholeSql(y.sql)} AS y, count(*) AS n`;
  return `SELECT ${columns} ${from(rows, ...placed)} GROUP BY 1, 2 ORDER BY 1, 2`;
}

/** Rows of `[x, y]`, one for each row of the table. */
export function pointsQuery(rows: ChartRows, x: ChartField, y: ChartField): string {
  const placed = [x, y].map((field) => `(${extentSql(field)}) IS NOT NULL`);
  return `SELECT ${quoteName(x.name)} AS x, ${quoteName(y.name)} AS y ${from(rows, ...placed)} LIMIT ${MAX_POINTS}`;
}

/** Rows of `[category, min, quartiles…, max, rows]`. */
export function boxQuery(
  rows: ChartRows,
  categories: Categories,
  y: ChartField,
  numRows: number,
): string {
  const value = `(${extentSql(y)})`;
  const number = `CAST(${value} AS DOUBLE)`;
  const quantile = numRows > MAX_EXACT_ROWS ? "approx_percentile_cont" : "percentile_cont";
  const quartile = (part: number) => `${quantile}(${number}, ${part})`;
  const middle = isFloat(y) ? quartile(0.5) : aggregateSql("median", y, numRows);
  const columns = [
    `min(${value})`,
    quartile(0.25),
    middle,
    quartile(0.75),
    `max(${value})`,
    "count(*)",
  ]
    .map((sql, index) => `${sql} AS v${index}`)
    .join(", ");
  const category = wholeSql(categorySql(categories));
  return `SELECT ${category} AS bin, ${columns} ${from(rows, `${value} IS NOT NULL`)} GROUP BY 1 ORDER BY 1`;
}

/** Rows of `[category, min, max, rows]` of the values within the bounds of each category. */
export function whiskersQuery(
  rows: ChartRows,
  categories: Categories,
  y: ChartField,
  bounds: readonly { position: number; low: number; high: number }[],
): string {
  const value = `(${extentSql(y)})`;
  const number = `CAST(${value} AS DOUBLE)`;
  const category = categorySql(categories);
  const within = bounds.map(
    ({ position, low, high }) =>
      `(${category}) = ${position} AND ${number} BETWEEN ${double(low)} AND ${double(high)}`,
  );
  return `SELECT ${wholeSql(category)} AS bin, min(${value}) AS low, max(${value}) AS high, count(*) AS n ${from(rows, `(${within.join(" OR ")})`)} GROUP BY 1 ORDER BY 1`;
}

function double(value: number): string {
  return `arrow_cast('${value}', 'Float64')`;
}

function wholeSql(sql: string): string {
  return `CAST(${sql} AS BIGINT)`;
}
