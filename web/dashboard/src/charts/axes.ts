import { nice, ticks } from "d3-array";
import { utcTicks } from "d3-time";
import { shortNumber, timeTick } from "./labels.js";
import { rect, type Shape } from "./scene.js";

/** Measures the width of a text in pixels. */
export type Measure = (text: string, sizePx: number) => number;

/** The rectangle of a drawing that holds the values, inside the axes; in pixels. */
export interface Plot {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A linear scale from `low` to `high` with the ticks of its axis. */
export interface Scale {
  low: number;
  high: number;
  ticks: readonly { value: number; label: string }[];
}

/** The font size of tick labels. */
export const TICK_PX = 11;

/** A scale of numbers that includes these values and has round ends. */
export function numberScale(low: number, high: number, count: number): Scale {
  const [from, to] =
    low < high ? [low, high] : [low - (Math.abs(low) || 1) / 2, low + (Math.abs(low) || 1) / 2];
  const [niceLow, niceHigh] = nice(from, to, count);
  const values = ticks(niceLow, niceHigh, count);
  return {
    low: niceLow,
    high: niceHigh,
    ticks: values.map((value) => ({ value, label: shortNumber(value) })),
  };
}

/** A scale with exactly these ends, of numbers or of times in ms since 1970. */
export function exactScale(low: number, high: number, isTime: boolean, count: number): Scale {
  const values = isTime
    ? utcTicks(new Date(low), new Date(high), count).map((date) => ({
        value: date.getTime(),
        label: timeTick(date),
      }))
    : ticks(low, high, count).map((value) => ({ value, label: shortNumber(value) }));
  return { low, high, ticks: values };
}

/** Maps a value to pixels, so that the ends of the scale are at `from` and `to`. */
export function toPixels(scale: Scale, value: number, from: number, to: number): number {
  return from + ((value - scale.low) / (scale.high - scale.low)) * (to - from);
}

/** The width of the widest tick label in pixels. */
export function labelWidth(scale: Scale, measure: Measure): number {
  return Math.ceil(Math.max(0, ...scale.ticks.map(({ label }) => measure(label, TICK_PX))));
}

/** Grid lines across the plot with tick labels at its left. */
export function leftAxis(scale: Scale, plot: Plot): Shape[] {
  return scale.ticks.flatMap(({ value, label }): Shape[] => {
    const y = toPixels(scale, value, plot.bottom, plot.top);
    return [
      { d: `M${plot.left} ${crisp(y)}H${plot.right}`, stroke: value === 0 ? "axis" : "grid" },
      { text: label, x: plot.left - 8, y: y + 4, ink: "muted", anchor: "end", sizePx: TICK_PX },
    ];
  });
}

/** Tick labels below the plot, without those that would overlap; `hasGrid` draws grid lines. */
export function bottomAxis(scale: Scale, plot: Plot, measure: Measure, hasGrid = false): Shape[] {
  const shapes: Shape[] = [];
  if (!hasGrid) {
    shapes.push({ d: `M${plot.left} ${crisp(plot.bottom)}H${plot.right}`, stroke: "axis" });
  }
  let end = Number.NEGATIVE_INFINITY;
  for (const { value, label } of scale.ticks) {
    const width = measure(label, TICK_PX);
    const x = toPixels(scale, value, plot.left, plot.right);
    const least = plot.left - 8 + width / 2;
    const middle = Math.min(Math.max(x, least), plot.right + 8 - width / 2);
    if (hasGrid) {
      const stroke = value === 0 ? "axis" : "grid";
      shapes.push({ d: `M${crisp(x)} ${plot.top}V${plot.bottom}`, stroke });
    }
    if (middle - width / 2 < end + 8) continue;
    if (!hasGrid) shapes.push({ d: `M${crisp(x)} ${plot.bottom}v4`, stroke: "axis" });
    shapes.push({
      text: label,
      x: middle,
      y: plot.bottom + 17,
      ink: "muted",
      anchor: "middle",
      sizePx: TICK_PX,
    });
    end = middle + width / 2;
  }
  return shapes;
}

/** Cuts a text with … to fit into a width. */
export function fitted(text: string, widthPx: number, sizePx: number, measure: Measure): string {
  if (measure(text, sizePx) <= widthPx) return text;
  let length = text.length;
  while (length > 1 && measure(`${text.slice(0, length)}…`, sizePx) > widthPx) length--;
  return `${text.slice(0, length)}…`;
}

/** A bar at least one pixel long, so that small values are visible. */
export function bar(x0: number, y0: number, x1: number, y1: number): string {
  return rect(x0, y0, Math.max(x1, x0 + (x1 > x0 ? 1 : 0)), y1);
}

function crisp(length: number): number {
  return Math.round(length) + 0.5;
}
