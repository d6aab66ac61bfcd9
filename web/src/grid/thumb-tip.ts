import { formatCount } from "../model/counts.js";
import { makeElement } from "./dom.js";

/** The position among the rows, for the tip. */
interface Position {
  readonly topRow: number;
  readonly numRows: number;
  readonly pageRows: number;
  readonly headerHeightPx: number;
}

/** With fewer pages than this, one sees where one is. */
const MIN_PAGES = 10;
/** Half of the tip, and of the shortest thumb that browsers draw. */
const HALF_PX = 13;

/**
 * While the thumb of the vertical scrollbar is dragged, a tip beside it says which row is at the
 * upper edge: a pixel of the thumb can be a hundred thousand rows. Only for the eye: who uses keys or
 * a screen reader goes to rows by number.
 *
 * @param layer where it is drawn: what does not scroll
 */
export function showRowWhileDragging(
  scroller: HTMLElement,
  layer: HTMLElement,
  position: Position,
): void {
  const tip = makeElement("thumb-tip");
  tip.setAttribute("aria-hidden", "true");
  tip.hidden = true;
  layer.append(tip);
  /** Where a scrollbar was pressed that is not let go yet. */
  let pressedRow: number | undefined;
  const end = (): void => {
    pressedRow = undefined;
    tip.hidden = true;
  };
  scroller.addEventListener("pointerdown", ({ target }) => {
    // The scroller is covered by its layer: what is pressed beside that is a scrollbar.
    pressedRow = target === scroller ? position.topRow : undefined;
  });
  scroller.addEventListener("scroll", () => {
    const { topRow, numRows, pageRows, headerHeightPx } = position;
    if (pressedRow === undefined || numRows < MIN_PAGES * pageRows) return;
    if (tip.hidden && topRow === pressedRow) return;
    tip.hidden = false;
    tip.textContent = `Row ${formatCount(Math.floor(topRow) + 1)}`;
    const { scrollTop, scrollHeight, clientHeight } = scroller;
    const fraction = scrollTop / Math.max(1, scrollHeight - clientHeight);
    const yPx = HALF_PX + fraction * (clientHeight - 2 * HALF_PX);
    const top = Math.max(headerHeightPx + 4, Math.min(yPx - HALF_PX, clientHeight - 30));
    tip.style.transform = `translateY(${top}px)`;
  });
  scroller.addEventListener("pointerup", end);
  scroller.addEventListener("pointercancel", end);
  // A release outside of the browser window is not reported.
  scroller.addEventListener("pointermove", ({ buttons }) => {
    if (buttons === 0) end();
  });
}
