/** The assumed width of a character where text cannot be measured (no canvas), for 13 px text. */
const FALLBACK_CHAR_PX = 7.5;

/** Measures the width of text in one font, in px. */
export class TextMeasure {
  readonly #context: CanvasRenderingContext2D | null;

  constructor(element: Element) {
    this.#context = document.createElement("canvas").getContext("2d");
    if (this.#context === null) return;
    // Not the shorthand: with forced colours Chromium computes it to nothing.
    const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(element);
    this.#context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  }

  widthPx(text: string): number {
    return this.#context?.measureText(text).width ?? text.length * FALLBACK_CHAR_PX;
  }
}
