import { FONT, type Ink, type Scene } from "./scene.js";

/** The CSS colour of each ink. */
export type Palette = Record<Ink, string>;

/** A scene as the text of an SVG file. */
export function svgText(scene: Scene, title: string, palette: Palette): string {
  const { width, height } = scene;
  const shapes = scene.shapes.map((shape) => {
    if ("text" in shape) {
      const weight = shape.isBold ? ' font-weight="600"' : "";
      return `<text x="${shape.x}" y="${shape.y}" fill="${palette[shape.ink]}" text-anchor="${shape.anchor}" font-size="${shape.sizePx}"${weight}>${escaped(shape.text)}</text>`;
    }
    const { fill, stroke, widthPx = 1, opacity, dash } = shape;
    const line = stroke
      ? ` stroke="${palette[stroke]}" stroke-width="${widthPx}" stroke-linejoin="round"`
      : "";
    const see = opacity === undefined ? "" : ` opacity="${opacity}"`;
    const dashes = dash === undefined ? "" : ` stroke-dasharray="${dash}"`;
    return `<path d="${shape.d}" fill="${fill ? palette[fill] : "none"}"${line}${see}${dashes}/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}" font-variant-numeric="tabular-nums"><title>${escaped(title)}</title>
${shapes.join("\n")}
</svg>
`;
}

/** Escapes a text for XML and replaces the characters that XML forbids. */
function escaped(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are replaced
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .toWellFormed()
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
  );
}

const PNG_SCALE = 2;

/** A scene as a PNG file, at twice its size in pixels. */
export async function pngBlob(scene: Scene, palette: Palette): Promise<Blob> {
  const canvas = new OffscreenCanvas(
    Math.ceil(scene.width * PNG_SCALE),
    Math.ceil(scene.height * PNG_SCALE),
  );
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("This browser cannot draw the chart as PNG.");
  context.scale(PNG_SCALE, PNG_SCALE);
  context.lineJoin = "round";
  for (const shape of scene.shapes) {
    if ("text" in shape) {
      context.globalAlpha = 1;
      context.fillStyle = palette[shape.ink];
      context.font = `${shape.isBold ? 600 : 400} ${shape.sizePx}px ${FONT}`;
      context.textAlign = shape.anchor === "middle" ? "center" : shape.anchor;
      context.fillText(shape.text, shape.x, shape.y);
      continue;
    }
    const path = new Path2D(shape.d);
    context.globalAlpha = shape.opacity ?? 1;
    if (shape.fill !== undefined) {
      context.fillStyle = palette[shape.fill];
      context.fill(path);
    }
    if (shape.stroke !== undefined) {
      context.strokeStyle = palette[shape.stroke];
      context.lineWidth = shape.widthPx ?? 1;
      context.setLineDash(shape.dash?.split(" ").map(Number) ?? []);
      context.stroke(path);
    }
  }
  return canvas.convertToBlob({ type: "image/png" });
}

/** Saves a file by the browser's download. */
export function saveFile(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
