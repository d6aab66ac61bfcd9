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

/** What is drawn at one position of a chart. */
export interface Point {
  /** Its bin or category. */
  position: number;
  /** Its colour, counted from 0; of a field of a scatter chart, its bin on the other axis. */
  series: number;
  value: number;
  /** The exact value. */
  text: string;
  /** How many rows it stands for. */
  numRows: number;
}

/** A row of the table as a point. */
export interface Dot {
  x: number;
  y: number;
  texts: readonly [string, string];
}

/** The distribution of a category: `low` and `high` are the values at the ends of the whiskers. */
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

/** All that a chart shows. */
export interface ChartData {
  spec: ChartSpec;
  bins: Bins | undefined;
  /** The bins of the other axis of a scatter chart. */
  yBins: Bins | undefined;
  categories: Categories | undefined;
  group: Categories | undefined;
  points: readonly Point[];
  dots: readonly Dot[] | undefined;
  boxes: readonly Box[] | undefined;
  /** All rows, also those without a position. */
  numRows: number;
  /** What has to be said of how it was made. */
  notes: readonly string[];
}

/** Rows without brushes, which give a chart its axes, and the rows that it shows. */
export interface LoadInput {
  source: ChartSource;
  fields: readonly ChartField[];
  spec: ChartSpec;
  /** The table's own filter. */
  base: Predicate | null;
  /** The same with the brushes of the other charts. */
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
  "LIMIT without ORDER BY: these may be other rows of the statement than the table shows.";

/** Loads charts; axes that were found before are kept, so that they stay while others are brushed. */
export class ChartLoader {
  readonly #answers = new Map<string, (string | null)[][]>();

  /** Runs what a chart needs; aborting stops it, at the server too. */
  async load(input: LoadInput, signal: AbortSignal): Promise<ChartData> {
    const { source, fields, spec, base, filter } = input;
    const field = (name: string | undefined) => fields.find((each) => each.name === name);
    const [x, y] = [field(spec.x), field(spec.y)];
    if (x === undefined) throw new Error(`There is no column ${spec.x} any more.`);
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
        ...(isEstimate && y ? ["Medians of so many rows are estimates."] : []),
      ],
    };
  }

  async #extents(rows: ChartRows, fields: readonly ChartField[], signal: AbortSignal) {
    const [row = []] = await this.#once(rows, extentQuery(rows, fields), signal);
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
    const top = await this.#once(rows, topQuery(rows, field, limit + 1), signal);
    const values = top.map(([value]) => value ?? null);
    return { field, values: values.slice(0, limit), hasOthers: values.length > limit };
  }

  /** An answer that stays as long as the source and the table's filter do. */
  async #once(rows: ChartRows, sql: string, signal: AbortSignal): Promise<(string | null)[][]> {
    const key = `${relation(rows.source)}\n${sql}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = await runSql(sql, signal);
    if (this.#answers.size > 200) this.#answers.clear();
    this.#answers.set(key, answer);
    return answer;
  }

  /** Forgets all axes: the rows may be others. */
  forget(): void {
    this.#answers.clear();
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
  const note = `Too many rows for points: shade is the number of rows in each field of ${bins.width} × ${yBins.width}.`;
  return { ...data, points, notes: [...data.notes, note] };
}

/** Whiskers end at the last value within 1.5 times the box's height, as Tukey drew them. */
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
    "Whiskers reach to the last value within 1.5 box lengths; what lies beyond is not drawn.",
  ];
  if (isEstimate) notes.push("Quartiles of so many rows are estimates.");
  return { ...data, boxes, notes };
}
