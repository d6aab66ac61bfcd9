import { bar, bottomAxis, fitted, numberScale, type Plot, TICK_PX, toPixels } from "./axes.js";
import type { Box, ChartData } from "./chart-loader.js";
import type { Categories } from "./chart-queries.js";
import {
  type Canvas,
  type Drawing,
  inkOf,
  legend,
  type Marked,
  type Stop,
  seriesOf,
} from "./drawing.js";
import { categoryLabel, exactNumber, shortNumber } from "./labels.js";
import { rect, type Shape } from "./scene.js";

const ROW_PX = 22;
const LABEL_PX = 12;

/** The categories with their labels at the left, and the rows beside them. */
function rowsOf(
  categories: Categories,
  canvas: Canvas,
  top: number,
  rowPx: number,
): { plot: Plot; shapes: Shape[]; spans: Drawing["spans"]; names: string[] } {
  const names = categories.values.map(categoryLabel);
  if (categories.hasOthers) names.push("others");
  const most = Math.min(160, canvas.width * 0.34);
  const widths = names.map((name) => canvas.measure(name, LABEL_PX));
  const left = Math.ceil(Math.min(most, Math.max(0, ...widths))) + 14;
  const plot = {
    left,
    top: top + 4,
    right: canvas.width - 10,
    bottom: top + 4 + Math.max(1, names.length) * rowPx,
  };
  const spans = names.map(
    (_, index) => [plot.top + index * rowPx, plot.top + (index + 1) * rowPx] as const,
  );
  const shapes = names.map((name, index): Shape => {
    const isValue =
      index < categories.values.length && typeof categories.values[index] === "string";
    return {
      text: fitted(name, left - 12, LABEL_PX, canvas.measure),
      x: left - 8,
      y: plot.top + (index + 0.5) * rowPx + 4,
      ink: isValue && name !== "empty text" ? "text" : "muted",
      anchor: "end",
      sizePx: LABEL_PX,
    };
  });
  return { plot, shapes, spans, names };
}

/** Draws horizontal bars of the most frequent categories. */
export function drawBars(
  data: ChartData,
  categories: Categories,
  canvas: Canvas,
  marked: Marked | undefined,
): Drawing {
  const { spec, points } = data;
  const { shapes: legendShapes, bottom: top } = legend(data, canvas, false);
  const series = seriesOf(data);
  const isStacked = spec.aggregate === "count" || spec.aggregate === "sum";
  const rowPx = isStacked ? ROW_PX : Math.max(ROW_PX, series.length * 9 + 8);
  const { plot, shapes: labels, spans, names } = rowsOf(categories, canvas, top, rowPx);
  const ends = names.map((_, index) => {
    const own = points.filter((point) => point.position === index && Number.isFinite(point.value));
    const values = own.map(({ value }) => value);
    return isStacked
      ? [sum(values.filter((value) => value < 0)), sum(values.filter((value) => value > 0))]
      : [Math.min(0, ...values), Math.max(0, ...values)];
  });
  const hasNumbers = series.length === 1;
  // The bar of all others is cut, because it would make the other bars too short to compare.
  const isCut = isStacked && categories.hasOthers;
  const scaled = isCut ? ends.slice(0, -1) : ends;
  const scale = numberScale(
    Math.min(...scaled.map(([low = 0]) => low), 0),
    Math.max(...scaled.map(([, high = 0]) => high), 0),
    4,
  );
  // Leave space for the number beside the longest bar.
  const inner = hasNumbers ? { ...plot, right: plot.right - 44 } : plot;
  const toX = (value: number) => {
    const within = Math.min(Math.max(value, scale.low), scale.high);
    return toPixels(scale, within, inner.left, inner.right);
  };
  const shapes: Shape[] = [
    ...legendShapes,
    ...bottomAxis(scale, inner, canvas.measure, true),
    ...labels,
  ];
  const stops: Stop[] = [];
  for (const [row, [from = 0, to = 0]] of spans.entries()) {
    const isFaded = marked !== undefined && !marked.positions.has(row);
    let [negative, positive] = [0, 0];
    for (const [order, { series: index, name }] of series.entries()) {
      const point = points.find((each) => each.position === row && each.series === index);
      if (point === undefined || !Number.isFinite(point.value)) continue;
      const isOthers = row >= categories.values.length && series.length === 1;
      const ink = isOthers ? "others" : inkOf(index);
      const base = isStacked ? (point.value < 0 ? negative : positive) : 0;
      const end = base + point.value;
      if (isStacked && point.value < 0) negative = end;
      else if (isStacked) positive = end;
      const barPx = isStacked ? to - from - 6 : (to - from - 6) / series.length;
      const y = from + 3 + (isStacked ? 0 : order * barPx);
      const [x0, x1] = [toX(Math.min(base, end)), toX(Math.max(base, end))];
      shapes.push({ d: bar(x0, y, x1, y + barPx), fill: ink, opacity: isFaded ? 0.3 : undefined });
      if (hasNumbers) {
        shapes.push({
          text: shortNumber(point.value),
          x: Math.max(x1, toX(0)) + 6,
          y: (from + to) / 2 + 4,
          ink: "muted",
          anchor: "start",
          sizePx: TICK_PX,
        });
      }
      if (end > scale.high || end < scale.low) {
        // Two strokes across a bar show that it is cut.
        const x = (end > scale.high ? inner.right : inner.left) - 14;
        const d = `M${x} ${y + barPx + 2}l6 ${-barPx - 4}M${x + 5} ${y + barPx + 2}l6 ${-barPx - 4}`;
        shapes.push({ d, stroke: "surface", widthPx: 2 });
      }
      stops.push({
        position: row,
        x: toX(end),
        y: y + barPx / 2,
        title: names[row] ?? "",
        ink,
        name,
        text: exactNumber(point.text),
        numRows: point.numRows,
      });
    }
  }
  return drawingOf(canvas, { plot, shapes, spans, stops });
}

/** A drawing of rows below each other, above an axis. */
function drawingOf(
  { width }: Canvas,
  parts: Pick<Drawing, "plot" | "shapes" | "spans" | "stops">,
): Drawing {
  const height = parts.plot.bottom + 26;
  return { ...parts, width, height, direction: "down", crossSpans: undefined };
}

/** Draws box plots. */
export function drawBoxes(
  categories: Categories,
  boxes: readonly Box[],
  canvas: Canvas,
  marked: Marked | undefined,
): Drawing {
  const { plot, shapes: labels, spans, names } = rowsOf(categories, canvas, canvas.top, 26);
  const low = Math.min(...boxes.map((box) => box.low));
  const high = Math.max(...boxes.map((box) => box.high));
  const scale = boxes.length > 0 ? numberScale(low, high, 5) : numberScale(0, 1, 5);
  const toX = (value: number) => toPixels(scale, value, plot.left, plot.right);
  const shapes: Shape[] = [...bottomAxis(scale, plot, canvas.measure, true), ...labels];
  const stops = boxes.map((box): Stop => {
    const [from = 0, to = 0] = spans[box.position] ?? [];
    const y = (from + to) / 2;
    const isFaded = marked !== undefined && !marked.positions.has(box.position);
    const opacity = isFaded ? 0.3 : undefined;
    const ink = box.position < categories.values.length ? "series0" : "others";
    const [x0, x1, x2, x3, x4] = [box.low, box.q1, box.median, box.q3, box.high].map(toX) as [
      number,
      number,
      number,
      number,
      number,
    ];
    shapes.push(
      {
        d: `M${x0} ${y}H${x1}M${x3} ${y}H${x4}M${x0} ${y - 4}v8M${x4} ${y - 4}v8`,
        stroke: ink,
        opacity,
      },
      {
        d: rect(x1, y - 8, Math.max(x3, x1 + 1), y + 8),
        fill: ink,
        opacity: isFaded ? 0.08 : 0.22,
      },
      { d: rect(x1, y - 8, Math.max(x3, x1 + 1), y + 8), stroke: ink, opacity },
      { d: `M${x2} ${y - 8}V${y + 8}`, stroke: ink, widthPx: 2.5, opacity },
    );
    return {
      position: box.position,
      x: x2,
      y,
      title: names[box.position] ?? "",
      ink,
      name: "",
      text: boxText(box),
      numRows: box.numRows,
    };
  });
  return drawingOf(canvas, { plot, shapes, spans, stops });
}

/** Describes a distribution. */
export function boxText({ q1, median, q3, least, greatest, numOutside }: Box): string {
  const outside = numOutside > 0 ? `; ${exactNumber(String(numOutside))} beyond the whiskers` : "";
  return `median ${shortNumber(median)}, quartiles ${shortNumber(q1)} and ${shortNumber(q3)}, range ${exactNumber(least)} to ${exactNumber(greatest)}${outside}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
