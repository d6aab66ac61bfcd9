import { formatRows } from "../text/format.js";
import {
  bottomAxis,
  exactScale,
  labelWidth,
  leftAxis,
  type Plot,
  TICK_PX,
  toPixels,
} from "./axes.js";
import type { Bins } from "./bins.js";
import type { ChartData } from "./chart-loader.js";
import type { Canvas, Drawing, Marked, Stop } from "./drawing.js";
import { binLabel, exactNumber, shortNumber } from "./labels.js";
import { circle, rect, type Shape } from "./scene.js";

const PLOT_HEIGHT_PX = 240;
/** The number of shades; each covers the same ratio of counts. */
const NUM_SHADES = 6;

/** Draws two numbers against each other: points, or a heat map of the number of rows. */
export function drawScatter(
  data: ChartData,
  [bins, yBins]: readonly [Bins, Bins],
  canvas: Canvas,
  marked: Marked | undefined,
): Drawing {
  const legendPx = data.dots === undefined ? 22 : 0;
  const yScale = exactScale(yBins.at(yBins.from), yBins.at(yBins.to), false, 6);
  const plot: Plot = {
    left: labelWidth(yScale, canvas.measure) + 12,
    top: canvas.top + 6 + legendPx,
    right: canvas.width - 10,
    bottom: canvas.top + 6 + legendPx + PLOT_HEIGHT_PX,
  };
  const numTicks = Math.max(2, Math.floor((plot.right - plot.left) / 64));
  const xScale = exactScale(bins.at(bins.from), bins.at(bins.to), false, numTicks);
  const toX = (value: number) => toPixels(xScale, value, plot.left, plot.right);
  const toY = (value: number) => toPixels(yScale, value, plot.bottom, plot.top);
  const spans = spansOf(bins, toX);
  const crossSpans = spansOf(yBins, toY);
  const isFaded = (at: number, crossPosition: number) =>
    marked !== undefined &&
    !(marked.positions.has(at) && (marked.crossPositions?.has(crossPosition) ?? true));
  const shapes: Shape[] = [...leftAxis(yScale, plot), ...bottomAxis(xScale, plot, canvas.measure)];
  const stops: Stop[] = [];
  if (data.dots !== undefined) {
    const indexIn = (all: Drawing["spans"], at: number) =>
      Math.max(
        0,
        all.findIndex(([a, b]) => at >= Math.min(a, b) && at <= Math.max(a, b)),
      );
    const lists: Record<"full" | "faded", string[]> = { full: [], faded: [] };
    for (const { x, y, texts } of data.dots) {
      const [at, crossPosition] = [indexIn(spans, toX(x)), indexIn(crossSpans, toY(y))];
      lists[isFaded(at, crossPosition) ? "faded" : "full"].push(circle(toX(x), toY(y), 2.75));
      stops.push({
        position: at,
        crossPosition,
        x: toX(x),
        y: toY(y),
        title: `${data.spec.x} ${exactNumber(texts[0])}`,
        ink: "series0",
        name: data.spec.y ?? "",
        text: exactNumber(texts[1]),
        numRows: 1,
      });
    }
    stops.sort((a, b) => a.x - b.x);
    shapes.push({ d: lists.faded.join(""), fill: "series0", opacity: 0.15 });
    shapes.push({ d: lists.full.join(""), fill: "series0", opacity: 0.6 });
  } else {
    const most = Math.max(1, ...data.points.map(({ numRows }) => numRows));
    const shades = Array.from({ length: NUM_SHADES * 2 }, (): string[] => []);
    for (const point of data.points) {
      const [at, crossPosition] = [point.position - bins.from, point.series - yBins.from];
      const [x, y] = [spans[at], crossSpans[crossPosition]];
      if (x === undefined || y === undefined) continue;
      const shade = shadeOf(point.numRows, most);
      shades[shade + (isFaded(at, crossPosition) ? NUM_SHADES : 0)]?.push(
        rect(x[0], y[1], x[1], y[0]),
      );
      stops.push({
        position: at,
        crossPosition,
        x: (x[0] + x[1]) / 2,
        y: (y[0] + y[1]) / 2,
        title: `${data.spec.x} ${binLabel(bins, point.position)}`,
        ink: "series0",
        name: `${data.spec.y} ${binLabel(yBins, point.series)}`,
        text: formatRows(point.numRows),
        numRows: point.numRows,
      });
    }
    for (const [index, parts] of shades.entries()) {
      if (parts.length === 0) continue;
      const opacity = opacityOf(index % NUM_SHADES) * (index < NUM_SHADES ? 1 : 0.3);
      shapes.push({ d: parts.join(""), fill: "series0", opacity });
    }
    stops.sort(
      (a, b) => a.position - b.position || (a.crossPosition ?? 0) - (b.crossPosition ?? 0),
    );
    shapes.push(...shadeLegend(most, canvas));
  }
  return {
    width: canvas.width,
    height: plot.bottom + 26,
    shapes,
    plot,
    direction: "across",
    spans,
    crossSpans,
    stops,
  };
}

function spansOf(bins: Bins, to: (value: number) => number): Drawing["spans"] {
  return Array.from({ length: bins.to - bins.from }, (_, index) => {
    const bin = bins.from + index;
    return [to(bins.at(bin)), to(bins.at(bin + 1))] as const;
  });
}

/** The shade of a count, on a logarithmic scale. */
function shadeOf(numRows: number, most: number): number {
  if (most <= 1) return NUM_SHADES - 1;
  const part = Math.log(numRows) / Math.log(most);
  return Math.min(NUM_SHADES - 1, Math.floor(part * NUM_SHADES));
}

function opacityOf(shade: number): number {
  return 0.16 + (0.84 * shade) / (NUM_SHADES - 1);
}

function shadeLegend(most: number, canvas: Canvas): Shape[] {
  const y = canvas.top + 10;
  const text = `${shortNumber(most)} rows`;
  const right = canvas.width - 10 - canvas.measure(text, TICK_PX);
  const left = right - 6 - NUM_SHADES * 14;
  const fields = Array.from(
    { length: NUM_SHADES },
    (_, shade): Shape => ({
      d: rect(left + shade * 14, y - 9, left + shade * 14 + 14, y + 1),
      fill: "series0",
      opacity: opacityOf(shade),
    }),
  );
  const label = (words: string, x: number, anchor: "start" | "end"): Shape => ({
    text: words,
    x,
    y,
    ink: "muted",
    anchor,
    sizePx: TICK_PX,
  });
  return [...fields, label("1", left - 6, "end"), label(text, right, "start")];
}
