import type { Predicate } from "colonnade";
import { type Bins, binsOf, type Extent } from "./bins.js";
import {
  aggregateSql,
  boxQuery,
  type Categories,
  type ChartRows,
  extentQuery,
  heatMapQuery,
  MAX_EXACT_ROWS,
  MAX_POINTS,
  pointsQuery,
  seriesQuery,
  topQuery,
  whiskersQuery,
} from "./chart-queries.js";
import type { ChartSpec } from "./chart-spec.js";
import type { ChartField } from "./fields.js";
import { type ChartSource, hasUnorderedLimit, relation } from "./predicate-sql.js";
import { runSql } from "./run-query.js";

/** A value at one position of a chart. */
export interface Point {
  /** The number of its bin, or the index of its category. */
  position: number;
  /** The index of its series; in a heat map, the number of its bin on the y axis. */
  series: number;
  value: number;
  /** The exact value. */
  text: string;
  /** The number of rows that it aggregates. */
  numRows: number;
}

/** A row of the table as a point of a scatter chart. */
export interface Dot {
  x: number;
  y: number;
  texts: readonly [string, string];
}

/** The distribution of a category; the whiskers end at the values `low` and `high`. */
export interface Box {
  position: number;
  low: number;
  q1: number;
  median: number;
  q3: number;
  high: number;
  least: string;
  greatest: string;
  numRows: number;
  numOutside: number;
}

/** The data of a chart. */
export interface ChartData {
  spec: ChartSpec;
  bins: Bins | undefined;
  /** The bins of the y axis of a scatter chart. */
  yBins: Bins | undefined;
  categories: Categories | undefined;
  group: Categories | undefined;
  points: readonly Point[];
  dots: readonly Dot[] | undefined;
  boxes: readonly Box[] | undefined;
  /** The number of rows, including those without a position. */
  numRows: number;
  /** Notes about limits of the data, shown below the chart. */
  notes: readonly string[];
}

/** What to load. The rows of `base` define the axes; the chart shows the rows of `filter`. */
export interface LoadInput {
  source: ChartSource;
  fields: readonly ChartField[];
  spec: ChartSpec;
  /** The table's own filter. */
  base: Predicate | null;
  /** The table's own filter and the brushes of the other charts. */
  filter: Predicate | null;
}

const NUM_BINS: Record<ChartSpec["kind"], number> = {
  line: 100,
  area: 100,
  histogram: 40,
  scatter: 40,
  bar: 0,
  box: 0,
};
const NUM_CATEGORIES = 12;
const NUM_COLOURS = 6;

const ANY_ROWS =
  "The statement has LIMIT without ORDER BY, so the chart may have other rows than the table.";

/** Loads charts and caches their axes, so that brushing another chart does not change them. */
export class ChartLoader {
  readonly #cache = new Map<string, (string | null)[][]>();

  /** Runs a chart's queries; aborting cancels them, also at the server. */
  async load(input: LoadInput, signal: AbortSignal): Promise<ChartData> {
    const { source, fields, spec, base, filter } = input;
    const field = (name: string | undefined) => fields.find((each) => each.name === name);
    const [x, y] = [field(spec.x), field(spec.y)];
    if (x === undefined) throw new Error(`Column ${spec.x} no longer exists.`);
    const axisRows: ChartRows = { source, fields, filter: base };
    const rows: ChartRows = { source, fields, filter };
    const isCategories = spec.kind === "bar" || spec.kind === "box";
    const group = field(spec.group);
    const placed = isCategories ? [] : spec.kind === "scatter" && y ? [x, y] : [x];
    const [extents, categories, colours] = await Promise.all([
      this.#extents(axisRows, placed, signal),
      isCategories ? this.#top(axisRows, x, NUM_CATEGORIES, signal) : undefined,
      group ? this.#top(axisRows, group, NUM_COLOURS, signal) : undefined,
    ]);
    const count = NUM_BINS[spec.kind];
    const [bins, yBins] = extents.fields.map((extent, index) =>
      extent && placed[index] ? binsOf(placed[index], extent, count) : undefined,
    );
    const data: ChartData = {
      spec,
      bins,
      yBins,
      categories,
      group: colours,
      points: [],
      dots: undefined,
      boxes: undefined,
      numRows: extents.numRows,
      notes: "sql" in source && hasUnorderedLimit(source.sql) ? [ANY_ROWS] : [],
    };
    if (spec.kind === "scatter" && y) return scatter(data, rows, [x, y], extents, signal);
    if (spec.kind === "box" && y) return boxes(data, rows, y, signal);
    const axis = bins ?? categories;
    if (axis === undefined) return data;
    const value = aggregateSql(
      spec.kind === "histogram" ? "count" : spec.aggregate,
      y,
      data.numRows,
    );
    const answer = await runSql(seriesQuery(rows, axis, colours, value), signal);
    const isEstimate = spec.aggregate === "median" && data.numRows > MAX_EXACT_ROWS;
    return {
      ...data,
      points: answer.map(pointOf),
      notes: [
        ...data.notes,
        ...(isEstimate && y ? ["Medians are estimates because there are so many rows."] : []),
      ],
    };
  }

  async #extents(rows: ChartRows, fields: readonly ChartField[], signal: AbortSignal) {
    const [row = []] = await this.#cached(rows, extentQuery(rows, fields), signal);
    const counts = fields.map((_, index) => Number(row[1 + index * 3]));
    return {
      numRows: Number(row[0]),
      numPlotted: Math.min(...counts),
      fields: fields.map((_, index): Extent | undefined => {
        const [low, high] = [row[2 + index * 3], row[3 + index * 3]];
        return low == null || high == null ? undefined : { low, high };
      }),
    };
  }

  async #top(
    rows: ChartRows,
    field: ChartField,
    limit: number,
    signal: AbortSignal,
  ): Promise<Categories> {
    const top = await this.#cached(rows, topQuery(rows, field, limit + 1), signal);
    const values = top.map(([value]) => value ?? null);
    return { field, values: values.slice(0, limit), hasOthers: values.length > limit };
  }

  /** Runs a query, or returns its cached rows. */
  async #cached(rows: ChartRows, sql: string, signal: AbortSignal): Promise<(string | null)[][]> {
    const key = `${relation(rows.source)}\n${sql}`;
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const answer = await runSql(sql, signal);
    if (this.#cache.size > 200) this.#cache.clear();
    this.#cache.set(key, answer);
    return answer;
  }

  /** Clears the cache, because the rows may have changed. */
  clearCache(): void {
    this.#cache.clear();
  }
}

function pointOf([position, series, value, numRows]: (string | null)[]): Point {
  return {
    position: Number(position),
    series: Number(series),
    value: value == null ? Number.NaN : Number(value),
    text: value ?? "null",
    numRows: Number(numRows),
  };
}

async function scatter(
  data: ChartData,
  rows: ChartRows,
  [x, y]: readonly [ChartField, ChartField],
  { numPlotted }: { numPlotted: number },
  signal: AbortSignal,
): Promise<ChartData> {
  const { bins, yBins } = data;
  if (bins === undefined || yBins === undefined) return data;
  if (numPlotted <= MAX_POINTS) {
    const answer = await runSql(pointsQuery(rows, x, y), signal);
    const dots = answer.map(
      ([a, b]): Dot => ({ x: Number(a), y: Number(b), texts: [a ?? "", b ?? ""] }),
    );
    return { ...data, dots };
  }
  const answer = await runSql(heatMapQuery(rows, bins, yBins), signal);
  const points = answer.map(([position, series, n]) =>
    pointOf([position ?? null, series ?? null, n ?? null, n ?? null]),
  );
  const note = `Too many rows for points. The shade is the number of rows in each cell of ${bins.width} × ${yBins.width}.`;
  return { ...data, points, notes: [...data.notes, note] };
}

/** Tukey's box plots: whiskers end at the last value within 1.5 times the interquartile range. */
async function boxes(
  data: ChartData,
  rows: ChartRows,
  y: ChartField,
  signal: AbortSignal,
): Promise<ChartData> {
  const { categories, numRows } = data;
  if (categories === undefined) return data;
  const answer = await runSql(boxQuery(rows, categories, y, numRows), signal);
  if (answer.length === 0) return { ...data, boxes: [] };
  const bounds = answer.map((row) => {
    const [position = 0, , q1 = 0, , q3 = 0] = row.map(Number);
    const reach = 1.5 * (q3 - q1);
    return { position, low: q1 - reach, high: q3 + reach };
  });
  const ends = await runSql(whiskersQuery(rows, categories, y, bounds), signal);
  const boxes = answer.map((row): Box => {
    const [position = 0, , q1 = 0, median = 0, q3 = 0, , count = 0] = row.map(Number);
    const end = ends.find((each) => Number(each[0]) === position);
    return {
      position,
      low: Math.min(q1, Number(end?.[1] ?? q1)),
      q1,
      median,
      q3,
      high: Math.max(q3, Number(end?.[2] ?? q3)),
      least: row[1] ?? "",
      greatest: row[5] ?? "",
      numRows: count,
      numOutside: count - Number(end?.[3] ?? count),
    };
  });
  const isEstimate = numRows > MAX_EXACT_ROWS;
  const notes = [
    ...data.notes,
    "Whiskers end at the last value within 1.5 box lengths; values beyond them are not drawn.",
  ];
  if (isEstimate) notes.push("Quartiles are estimates because there are so many rows.");
  return { ...data, boxes, notes };
}
