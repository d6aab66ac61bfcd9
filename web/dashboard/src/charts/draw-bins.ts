import {
  bottomAxis,
  exactScale,
  labelWidth,
  leftAxis,
  numberScale,
  type Plot,
  toPixels,
} from "./axes.js";
import type { Bins } from "./bins.js";
import type { ChartData, Point } from "./chart-loader.js";
import {
  type Canvas,
  type Drawing,
  dashOf,
  inkOf,
  legend,
  type Marked,
  type Stop,
  seriesOf,
} from "./drawing.js";
import { binLabel, exactNumber } from "./labels.js";
import { circle, type Ink, polyline, rect, type Shape } from "./scene.js";

const PLOT_HEIGHT_PX = 190;

/** One value of a series, from `low` to `high`; stacked on the series below if these are stacked. */
interface Layer {
  point: Point | undefined;
  low: number;
  high: number;
}

/** Draws lines, areas and histograms: values over bins of numbers or times. */
export function drawBins(
  data: ChartData,
  bins: Bins,
  canvas: Canvas,
  marked: Marked | undefined,
): Drawing {
  const { spec } = data;
  const isHistogram = spec.kind === "histogram";
  const { shapes: legendShapes, bottom: top } = legend(data, canvas, spec.kind === "line");
  const isAdditive = isHistogram || spec.aggregate === "count" || spec.aggregate === "sum";
  const isStacked = isHistogram || (spec.kind === "area" && isAdditive);
  const series = seriesOf(data);
  const layers = layersOf(data, bins, isStacked, isHistogram || spec.aggregate === "count");
  const values = layers.flat().flatMap(({ low, high }) => (isStacked ? [low, high] : [high]));
  const known = values.filter(Number.isFinite);
  const hasZero = isStacked || spec.kind === "area" || isAdditive;
  const low = Math.min(...known, ...(hasZero || known.length === 0 ? [0] : []));
  const high = Math.max(...known, ...(hasZero || known.length === 0 ? [0] : []));
  const yScale = numberScale(low, known.length === 0 ? 1 : high, 5);
  const plot: Plot = {
    left: labelWidth(yScale, canvas.measure) + 12,
    top: top + 6,
    right: canvas.width - 10,
    bottom: top + 6 + PLOT_HEIGHT_PX,
  };
  const numTicks = Math.max(2, Math.floor((plot.right - plot.left) / 64));
  const xScale = exactScale(bins.at(bins.from), bins.at(bins.to), bins.isTime, numTicks);
  const toX = (value: number) => toPixels(xScale, value, plot.left, plot.right);
  const toY = (value: number) => toPixels(yScale, value, plot.bottom, plot.top);
  const spans = Array.from({ length: bins.to - bins.from }, (_, index) => {
    const bin = bins.from + index;
    return [toX(bins.at(bin)), toX(bins.at(bin + 1))] as const;
  });
  const zeroY = toY(Math.max(yScale.low, Math.min(yScale.high, 0)));
  const shapes: Shape[] = [...legendShapes, ...leftAxis(yScale, plot)];
  const stops: Stop[] = [];
  for (const [order, { series: index, name }] of series.entries()) {
    const ink = inkOf(index);
    const own = layers[order] ?? [];
    if (isHistogram) shapes.push(...columns(own, spans, toY, ink, marked));
    else {
      const middles = own.map(({ low, high }, at) => {
        const [from, to] = spans[at] ?? [0, 0];
        return { x: (from + to) / 2, high: toY(high), low: isStacked ? toY(low) : zeroY };
      });
      if (spec.kind === "area") shapes.push(...areas(middles, ink, isStacked ? 0.35 : 0.14));
      shapes.push({
        d: polyline(middles.map(({ x, high }) => [x, high])),
        stroke: ink,
        widthPx: 1.75,
        dash: spec.kind === "line" ? dashOf(index) : undefined,
      });
      const alone = middles.filter(
        ({ high }, at) =>
          Number.isFinite(high) && !isDrawn(middles, at - 1) && !isDrawn(middles, at + 1),
      );
      const dots = alone.map(({ x, high }) => circle(x, high, 2.5)).join("");
      if (dots !== "") shapes.push({ d: dots, fill: ink });
    }
    for (const [at, { point, high }] of own.entries()) {
      const [from, to] = spans[at] ?? [0, 0];
      if (point === undefined || !Number.isFinite(high)) continue;
      stops.push({
        position: at,
        x: (from + to) / 2,
        y: toY(high),
        title: binLabel(bins, bins.from + at),
        ink,
        name,
        text: exactNumber(point.text),
        numRows: point.numRows,
      });
    }
  }
  if (marked !== undefined && !isHistogram) shapes.push(...fadeOutside(spans, plot, marked));
  shapes.push(...bottomAxis(xScale, plot, canvas.measure));
  stops.sort((a, b) => a.position - b.position);
  const height = plot.bottom + 26;
  return {
    width: canvas.width,
    height,
    shapes,
    plot,
    direction: "across",
    spans,
    crossSpans: undefined,
    stops,
  };
}

/** The values of each series in each bin. For bins without rows, counts are 0 and others NaN. */
function layersOf(data: ChartData, bins: Bins, isStacked: boolean, isCount: boolean): Layer[][] {
  const num = bins.to - bins.from;
  const tops = new Float64Array(num);
  const byPlace = new Map(
    data.points.map((point) => [point.series * num + point.position - bins.from, point]),
  );
  return seriesOf(data).map(({ series }) =>
    Array.from({ length: num }, (_, index): Layer => {
      const point = byPlace.get(series * num + index);
      const value = point?.value ?? (isCount || isStacked ? 0 : Number.NaN);
      const low = isStacked ? (tops[index] ?? 0) : 0;
      const high = low + value;
      // A sum that is null or NaN has no height; the series above stand on the one below.
      if (isStacked && Number.isFinite(high)) tops[index] = high;
      return { point, low, high };
    }),
  );
}

function isDrawn(points: readonly { high: number }[], at: number): boolean {
  return Number.isFinite(points[at]?.high);
}

function areas(
  points: readonly { x: number; high: number; low: number }[],
  fill: Ink,
  opacity: number,
): Shape[] {
  const runs: (typeof points)[number][][] = [[]];
  for (const point of points) {
    if (Number.isFinite(point.high)) runs.at(-1)?.push(point);
    else runs.push([]);
  }
  return runs
    .filter((run) => run.length > 1)
    .map((run) => {
      const there = run.map(({ x, high }) => [x, high] as const);
      const back = run.map(({ x, low }) => [x, low] as const).reverse();
      return { d: `${polyline([...there, ...back])}Z`, fill, opacity };
    });
}

function columns(
  layers: readonly Layer[],
  spans: Drawing["spans"],
  toY: (value: number) => number,
  fill: Ink,
  marked: Marked | undefined,
): Shape[] {
  const full: string[] = [];
  const faded: string[] = [];
  for (const [at, { low, high }] of layers.entries()) {
    const [from, to] = spans[at] ?? [0, 0];
    if (!(high > low)) continue;
    const gap = to - from > 4 ? 0.5 : 0;
    // A bar is at least one pixel high, so that small counts are visible.
    const topY = Math.min(toY(high), toY(low) - 1);
    const isFull = marked === undefined || marked.positions.has(at);
    (isFull ? full : faded).push(rect(from + gap, topY, to - gap, toY(low)));
  }
  return [
    ...(full.length > 0 ? [{ d: full.join(""), fill }] : []),
    ...(faded.length > 0 ? [{ d: faded.join(""), fill, opacity: 0.3 }] : []),
  ];
}

/** Fades the bins outside the brush. */
function fadeOutside(spans: Drawing["spans"], plot: Plot, { positions }: Marked): Shape[] {
  const outside = spans.flatMap(([from, to], at) =>
    positions.has(at) ? [] : [rect(from, plot.top - 4, to, plot.bottom)],
  );
  return outside.length > 0 ? [{ d: outside.join(""), fill: "surface", opacity: 0.66 }] : [];
}
