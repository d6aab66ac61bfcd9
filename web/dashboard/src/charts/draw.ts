import type { Measure } from "./axes.js";
import type { ChartData } from "./chart-loader.js";
import { drawBins } from "./draw-bins.js";
import { drawBars, drawBoxes } from "./draw-categories.js";
import { drawScatter } from "./draw-scatter.js";
import { type Canvas, type Drawing, markedBy } from "./drawing.js";
import type { Scene } from "./scene.js";

/** Draws a chart at a width in pixels; undefined if there is nothing to draw. */
export function draw(
  data: ChartData,
  width: number,
  measure: Measure,
  top = 0,
): Drawing | undefined {
  const canvas: Canvas = { width, measure, top };
  const { spec, bins, yBins, categories, boxes } = data;
  const marked = markedBy(data, spec.brush);
  if (categories !== undefined) {
    if (categories.values.length === 0) return undefined;
    if (boxes === undefined) return drawBars(data, categories, canvas, marked);
    return drawBoxes(categories, boxes, canvas, marked);
  }
  if (bins === undefined) return undefined;
  if (spec.kind !== "scatter") return drawBins(data, bins, canvas, marked);
  return yBins && drawScatter(data, [bins, yBins], canvas, marked);
}

/** Draws a chart with its title and background, for an image file. */
export function drawAlone(
  data: ChartData,
  title: string,
  width: number,
  measure: Measure,
): Scene | undefined {
  const scene = draw(data, width, measure, 30);
  if (scene === undefined) return undefined;
  return {
    width,
    height: scene.height,
    shapes: [
      { d: `M0 0H${width}V${scene.height}H0Z`, fill: "surface" },
      { text: title, x: 4, y: 18, ink: "text", anchor: "start", sizePx: 13, isBold: true },
      ...scene.shapes,
    ],
  };
}
