import type { Measure, Plot } from "./axes.js";
import { type Bins, boundValue } from "./bins.js";
import type { ChartData } from "./chart-loader.js";
import type { Brush } from "./chart-spec.js";
import { categoryLabel } from "./labels.js";
import { type Ink, type Scene, SERIES_INKS, type Shape } from "./scene.js";

/** A value that can be looked at: by the pointer near it, or by the keyboard. */
export interface Stop {
  /** The range or category it stands in, counted from 0 in the order of the axis. */
  position: number;
  /** The range of the other axis, where there is one. */
  crossPosition?: number | undefined;
  x: number;
  y: number;
  title: string;
  /** Its colour, and the words beside it. */
  ink: Ink;
  name: string;
  text: string;
  numRows: number;
}

/** From where to where something reaches, in pixels. */
export type Span = readonly [from: number, to: number];

/** A chart's picture, and where in it what is. */
export interface Drawing extends Scene {
  plot: Plot;
  /** Whether ranges and categories lie beside or below each other. */
  direction: "across" | "down";
  /** The ranges or categories of the axis. */
  spans: readonly Span[];
  /** The ranges of the other axis that can be brushed too. */
  crossSpans: readonly Span[] | undefined;
  stops: readonly Stop[];
}

/** What all kinds of charts are drawn with. */
export interface Canvas {
  width: number;
  measure: Measure;
  /** The first pixel below what stands above the plot. */
  top: number;
}

/** Ranges that are marked, by their position on the axis: `[first, last]`. */
export interface Marked {
  positions: ReadonlySet<number>;
  crossPositions: ReadonlySet<number> | undefined;
}

/** So that lines are told apart without their colours. */
const DASHES: readonly (string | undefined)[] = [undefined, "6 3", "2 3", "8 3 2 3", "12 4", "4 2"];

/** The colour of a series; grey for all the others. */
export function inkOf(series: number): Ink {
  return SERIES_INKS[series] ?? "others";
}

/** How the line of a series is broken. */
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

/** Names of colours in rows above the plot. */
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

/** What a brush marks; undefined without one. */
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
        // A bound's text may be another number than the bound: the next one that the column can hold.
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

/** The brush that marks the ranges from one to another, on both axes where there are two. */
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
