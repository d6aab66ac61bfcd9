/** The colours of series, in the order of the series. */
export const SERIES_INKS = [
  "series0",
  "series1",
  "series2",
  "series3",
  "series4",
  "series5",
] as const;

/** All inks: names of colours by their use. The page's theme defines the colours. */
export const INKS = ["text", "muted", "grid", "axis", "surface", ...SERIES_INKS, "others"] as const;
export type Ink = (typeof INKS)[number];

/** An outline in SVG's path language; lengths in pixels. */
export interface PathShape {
  d: string;
  fill?: Ink | undefined;
  stroke?: Ink | undefined;
  widthPx?: number | undefined;
  opacity?: number | undefined;
  dash?: string | undefined;
}

/** A line of text on its baseline. */
export interface TextShape {
  text: string;
  x: number;
  y: number;
  ink: Ink;
  anchor: "start" | "middle" | "end";
  sizePx: number;
  isBold?: boolean | undefined;
}

export type Shape = PathShape | TextShape;

/** A drawing for the screen, SVG files and PNG files. */
export interface Scene {
  width: number;
  height: number;
  shapes: readonly Shape[];
}

/** The font of all texts. */
export const FONT =
  'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif';

/** The outline of a rectangle. */
export function rect(x0: number, y0: number, x1: number, y1: number): string {
  return `M${px(x0)} ${px(y0)}H${px(x1)}V${px(y1)}H${px(x0)}Z`;
}

/** The outline of a circle. */
export function circle(x: number, y: number, r: number): string {
  return `M${px(x - r)} ${px(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
}

/** A polyline through points, with gaps where y is not finite. */
export function polyline(points: readonly (readonly [x: number, y: number])[]): string {
  let isDown = false;
  let d = "";
  for (const [x, y] of points) {
    const isPoint = Number.isFinite(y);
    if (isPoint) d += `${isDown ? "L" : "M"}${px(x)} ${px(y)}`;
    isDown = isPoint;
  }
  return d;
}

/** Rounds a length to a hundredth of a pixel. */
export function px(length: number): number {
  return Math.round(length * 100) / 100;
}
