import type { Measure, Plot } from "./axes.js";
import { type Bins, boundValue } from "./bins.js";
import type { ChartData } from "./chart-loader.js";
import type { Brush } from "./chart-spec.js";
import { categoryLabel } from "./labels.js";
import { type Ink, type Scene, SERIES_INKS, type Shape } from "./scene.js";

/** A value that the pointer or the keyboard can reach, with the texts of its tooltip. */
export interface Stop {
  /** The index of its bin or category in the order of the axis. */
  position: number;
  /** The index of its bin on the y axis of a scatter chart. */
  crossPosition?: number | undefined;
  x: number;
  y: number;
  title: string;
  /** The ink and name of its series, and its value. */
  ink: Ink;
  name: string;
  text: string;
  numRows: number;
}

/** The extent of something, in pixels. */
export type Span = readonly [from: number, to: number];

/** A drawn chart with the positions of its values. */
export interface Drawing extends Scene {
  plot: Plot;
  /** Whether the positions of the axis go across or down. */
  direction: "across" | "down";
  /** The spans of the bins or categories of the axis. */
  spans: readonly Span[];
  /** The spans of the bins of the y axis, if it can be brushed too. */
  crossSpans: readonly Span[] | undefined;
  stops: readonly Stop[];
}

/** The available space and the measure of texts. */
export interface Canvas {
  width: number;
  measure: Measure;
  /** The first pixel below the title. */
  top: number;
}

/** The positions that a brush selects. */
export interface Marked {
  positions: ReadonlySet<number>;
  crossPositions: ReadonlySet<number> | undefined;
}

/** Dash patterns, so that lines can be distinguished without colours. */
const DASHES: readonly (string | undefined)[] = [undefined, "6 3", "2 3", "8 3 2 3", "12 4", "4 2"];

/** The ink of a series; grey for all others. */
export function inkOf(series: number): Ink {
  return SERIES_INKS[series] ?? "others";
}

/** The dash pattern of a series. */
export function dashOf(series: number): string | undefined {
  return series < DASHES.length ? DASHES[series] : "1 3";
}

/** The series of a chart in the order of their colours. */
export function seriesOf({ group, points }: ChartData): { series: number; name: string }[] {
  if (group === undefined) return [{ series: 0, name: "" }];
  const present = new Set(points.map(({ series }) => series));
  const all = [...group.values.map(categoryLabel), "others"];
  return all.flatMap((name, series) => (present.has(series) ? [{ series, name }] : []));
}

/** The legend above the plot. */
export function legend(
  data: ChartData,
  canvas: Canvas,
  isLine: boolean,
): { shapes: Shape[]; bottom: number } {
  if (data.group === undefined) return { shapes: [], bottom: canvas.top };
  const shapes: Shape[] = [];
  let [x, y] = [4, canvas.top + 10];
  for (const { series, name } of seriesOf(data)) {
    const text = name.length > 24 ? `${name.slice(0, 23)}…` : name;
    const width = 22 + canvas.measure(text, 11.5) + 14;
    if (x > 4 && x + width > canvas.width) [x, y] = [4, y + 18];
    const ink = inkOf(series);
    if (isLine) {
      shapes.push({ d: `M${x} ${y - 4}h16`, stroke: ink, widthPx: 2, dash: dashOf(series) });
    } else {
      shapes.push({ d: `M${x + 3} ${y - 9}h10v10h-10Z`, fill: ink });
    }
    shapes.push({ text, x: x + 21, y, ink: "text", anchor: "start", sizePx: 11.5 });
    x += width;
  }
  return { shapes, bottom: y + 12 };
}

/** The positions that a brush selects; undefined without a brush. */
export function markedBy(data: ChartData, brush: Brush | undefined): Marked | undefined {
  if (brush === undefined) return undefined;
  const { bins, yBins, categories } = data;
  if ("values" in brush) {
    if (categories === undefined) return undefined;
    const { values, hasOthers } = categories;
    const isOthers = brush.isOthers === true;
    const positions = values.flatMap((value, index) =>
      brush.values.includes(value) === isOthers ? [] : [index],
    );
    if (isOthers && hasOthers) positions.push(values.length);
    return { positions: new Set(positions), crossPositions: undefined };
  }
  const within = (axis: typeof bins, range: readonly [string, string] | undefined) => {
    if (axis === undefined || range === undefined) return undefined;
    const [from, to] = [boundValue(axis, range[0]), boundValue(axis, range[1])];
    const count = axis.to - axis.from;
    const indices = Array.from({ length: count }, (_, index) => index);
    return new Set(
      indices.filter((index) => {
        const bin = axis.from + index;
        // A bound's text is the next number that the column's type can hold, so it may differ.
        return bound(axis, bin) < to && bound(axis, bin + 1) > from;
      }),
    );
  };
  const positions = within(bins, brush.x);
  return positions && { positions, crossPositions: within(yBins, brush.y) };
}

function bound(axis: Bins, bin: number): number {
  return boundValue(axis, axis.text(bin));
}

/** The brush that selects positions from one to another, on both axes of a scatter chart. */
export function brushOf(
  data: ChartData,
  positions: Span,
  crossPositions: Span | undefined,
): Brush | undefined {
  const { bins, yBins, categories } = data;
  const [first, last] = ordered(positions);
  if (bins !== undefined) {
    const x = [bins.text(bins.from + first), bins.text(bins.from + last + 1)] as const;
    if (crossPositions === undefined || yBins === undefined) return { x };
    const [low, high] = ordered(crossPositions);
    return { x, y: [yBins.text(yBins.from + low), yBins.text(yBins.from + high + 1)] };
  }
  if (categories === undefined) return undefined;
  const { values } = categories;
  if (last >= values.length) {
    return { values: values.filter((_, index) => index < first), isOthers: true };
  }
  return { values: values.slice(first, last + 1) };
}

function ordered([a, b]: Span): Span {
  return a <= b ? [a, b] : [b, a];
}
