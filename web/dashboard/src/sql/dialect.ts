import { SQLDialect } from "@codemirror/lang-sql";

/** The keywords of DataFusion's SQL in queries. */
const KEYWORDS = `all analyze and anti any array as asc at between both by case cast cluster collate
  column columns cross cube current current_date current_row current_time current_timestamp date day
  desc describe distinct distribute else end epoch escape except exclude exists explain extract false
  fetch filter first following for format from full group grouping groups having hour ignore ilike in
  inner intersect interval into is join lateral last leading left like limit materialized microsecond
  millisecond minute month natural next not null nulls of offset on only or order outer over overlay
  partition position preceding qualify quarter range recursive respect right rlike rollup row rows
  second select semi sets show similar some substring symmetric table tables tablesample then ties time
  timestamp to trailing tree trim true try_cast unbounded union unnest using values verbose view week
  when where window with within without year zone`;

const TYPES = `bigint binary blob bool boolean bytea char date decimal double float float4 float8 int
  int2 int4 int8 integer interval json numeric real smallint string text time timestamp timestamptz
  tinyint unsigned uuid varchar varbinary`;

/** The server's SQL dialect: similar to PostgreSQL, with names in double quotes. */
export const dialect = SQLDialect.define({
  keywords: KEYWORDS.replace(/\s+/g, " "),
  types: TYPES.replace(/\s+/g, " "),
  operatorChars: "+-*/<>=~!@#%^&|`?:",
  caseInsensitiveIdentifiers: true,
});
