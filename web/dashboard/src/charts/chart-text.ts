import { formatCount, formatRows } from "../text/format.js";
import type { ChartData } from "./chart-loader.js";
import { type ChartSpec, hasAggregate } from "./chart-spec.js";
import { type Drawing, seriesOf } from "./drawing.js";
import { binLabel, categoryLabel, shortNumber } from "./labels.js";

const NAMES: Record<ChartSpec["kind"], string> = {
  line: "Line chart",
  area: "Area chart",
  bar: "Bar chart",
  histogram: "Histogram",
  scatter: "Scatter plot",
  box: "Box plot",
};

/** The title of a chart, e.g. `Mean of delay by date`. */
export function titleOf(spec: ChartSpec): string {
  const { kind, x, y, aggregate, group } = spec;
  const colour = group === undefined ? "" : `, by ${group}`;
  if (kind === "scatter") return `${y} against ${x}`;
  if (kind === "box") return `${y} by ${x}`;
  if (kind === "histogram" || y === undefined || !hasAggregate(kind))
    return `Rows by ${x}${colour}`;
  if (aggregate === "count") return `Rows by ${x}${colour}`;
  return `${aggregate.charAt(0).toUpperCase()}${aggregate.slice(1)} of ${y} by ${x}${colour}`;
}

/** The file name for an image of the chart. */
export function fileNameOf(name: string, spec: ChartSpec, ending: string): string {
  const words = `${name} ${titleOf(spec)}`.normalize("NFC").replace(/[^\p{L}\p{N}_]+/gu, "-");
  return `${words.replace(/^-+|-+$/g, "").slice(0, 100) || "chart"}.${ending}`;
}

/** Describes a chart in one or two sentences, also for screen readers. */
export function summaryOf(data: ChartData, drawing: Drawing): string {
  const { spec, bins, group } = data;
  const width = bins?.isTime ? ` (per ${bins.width})` : "";
  const title = titleOf(spec);
  const isName = spec.kind === "scatter" || spec.kind === "box";
  const shown = isName ? title : `${title.charAt(0).toLowerCase()}${title.slice(1)}`;
  const start = `${NAMES[spec.kind]} of ${shown}${width}`;
  const { stops } = drawing;
  if (stops.length === 0) return `${start}: no values to show.`;
  if (spec.kind === "scatter") {
    const rows = stops.reduce((sum, stop) => sum + stop.numRows, 0);
    const what =
      data.dots === undefined ? `${formatCount(stops.length)} cells with rows` : "points";
    return `${start}: ${formatRows(rows)}, ${what}.`;
  }
  if (data.boxes !== undefined) {
    const medians = data.boxes.map(({ median }) => median);
    return `${start}: ${formatCount(medians.length)} boxes, medians from ${shortNumber(Math.min(...medians))} to ${shortNumber(Math.max(...medians))}.`;
  }
  const isRest = (at: number) =>
    data.categories !== undefined && at >= data.categories.values.length;
  const known = data.points.filter(({ value }) => Number.isFinite(value));
  const named = known.filter(({ position }) => !isRest(position));
  const values = named.length > 0 ? named : known;
  const least = values.reduce((a, b) => (b.value < a.value ? b : a));
  const most = values.reduce((a, b) => (b.value > a.value ? b : a));
  const labelOf = (at: typeof least) => {
    const label = positionLabel(data, at.position);
    return group === undefined ? label : `${label}, ${categoryLabel(group.values[at.series])}`;
  };
  const what = bins === undefined ? "bars" : spec.kind === "histogram" ? "bins" : "points";
  const colours = group === undefined ? "" : ` in ${seriesOf(data).length} colours`;
  const ends = `lowest ${shortNumber(least.value)} (${labelOf(least)}), highest ${shortNumber(most.value)} (${labelOf(most)})`;
  const trend = spec.kind === "line" || spec.kind === "area" ? trendOf(data) : "";
  return `${start}: ${formatCount(values.length)} ${what}${colours}, ${ends}${trend}.`;
}

/** The label of a bin or a category. */
function positionLabel({ bins, categories }: ChartData, at: number): string {
  return bins === undefined ? categoryLabel(categories?.values[at]) : binLabel(bins, at);
}

/** The trend of the values, by their correlation with the position. */
function trendOf({ points, group }: ChartData): string {
  const known = points.filter(({ value }) => Number.isFinite(value));
  if (group !== undefined || known.length < 4) return "";
  const meanX = known.reduce((sum, { position }) => sum + position, 0) / known.length;
  const meanY = known.reduce((sum, { value }) => sum + value, 0) / known.length;
  let [xy, xx, yy] = [0, 0, 0];
  for (const { position, value } of known) {
    xy += (position - meanX) * (value - meanY);
    xx += (position - meanX) ** 2;
    yy += (value - meanY) ** 2;
  }
  if (yy === 0) return ", constant";
  const correlation = xy / Math.sqrt(xx * yy);
  if (Math.abs(correlation) < 0.5) return ", no clear trend";
  return correlation > 0 ? ", rising" : ", falling";
}

/** A table of texts. */
export interface ChartTable {
  headers: readonly string[];
  /** Exact values. */
  rows: readonly (readonly string[])[];
  /** The number of columns, the first ones, that name the row. */
  numNames: number;
}

/** The values of a chart as a table. */
export function tableOf(data: ChartData): ChartTable {
  const { spec, yBins, group } = data;
  const { x, y = "" } = spec;
  if (data.dots !== undefined) {
    return { headers: [x, y], rows: data.dots.map(({ texts }) => texts), numNames: 1 };
  }
  if (data.boxes !== undefined) {
    return {
      headers: [x, "min", "lower quartile", "median", "upper quartile", "max", "rows"],
      rows: data.boxes.map((box) => [
        positionLabel(data, box.position),
        box.least,
        String(box.q1),
        String(box.median),
        String(box.q3),
        box.greatest,
        String(box.numRows),
      ]),
      numNames: 1,
    };
  }
  if (yBins !== undefined) {
    const rows = data.points.map(({ position, series, numRows }) => [
      positionLabel(data, position),
      binLabel(yBins, series),
      String(numRows),
    ]);
    return { headers: [x, y, "rows"], rows, numNames: 2 };
  }
  const isCount = y === "" || (hasAggregate(spec.kind) && spec.aggregate === "count");
  const colour = (series: number) => (group ? [categoryLabel(group.values[series])] : []);
  return {
    headers: [
      x,
      ...(group ? [group.field.name] : []),
      ...(isCount ? [] : [`${spec.aggregate} of ${y}`]),
      "rows",
    ],
    rows: data.points.map(({ position, series, text, numRows }) => [
      positionLabel(data, position),
      ...colour(series),
      ...(isCount ? [] : [text]),
      String(numRows),
    ]),
    numNames: group ? 2 : 1,
  };
}
