/** The assumed width of a character of 13 px text if text cannot be measured (no canvas). */
const FALLBACK_CHAR_PX = 7.5;

/** Measures the width of text in one font, in px. */
export class TextMeasure {
  readonly #context: CanvasRenderingContext2D | null;

  constructor(element: Element) {
    this.#context = document.createElement("canvas").getContext("2d");
    if (this.#context === null) return;
    // Not the shorthand `font`, which Chromium computes to nothing with forced colours.
    const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(element);
    this.#context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  }

  widthPx(text: string): number {
    return this.#context?.measureText(text).width ?? text.length * FALLBACK_CHAR_PX;
  }
}
