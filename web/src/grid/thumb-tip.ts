import { formatCount } from "../model/counts.js";
import { makeElement } from "./dom.js";

/** The position among the rows, for the tip. */
interface Position {
  readonly topRow: number;
  readonly numRows: number;
  readonly pageRows: number;
  readonly headerHeightPx: number;
}

/** With fewer pages than this, no tip is needed. */
const MIN_PAGES = 10;
/** Half of the tip, and of the shortest thumb that browsers draw. */
const HALF_PX = 13;

/**
 * Shows the row at the upper edge in a tip beside the vertical scrollbar while its thumb is dragged,
 * because a pixel of the thumb can be a hundred thousand rows. The tip is hidden from screen readers:
 * their users, and keyboard users, go to rows by number.
 *
 * @param layer the layer that does not scroll, in which the tip is drawn
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
  /** The top row when the scrollbar was pressed; undefined once it is released. */
  let pressedRow: number | undefined;
  const end = (): void => {
    pressedRow = undefined;
    tip.hidden = true;
  };
  scroller.addEventListener("pointerdown", ({ target }) => {
    // The layer covers the scroller, so a press on the scroller itself is on a scrollbar.
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
  // A release outside the browser window is not reported.
  scroller.addEventListener("pointermove", ({ buttons }) => {
    if (buttons === 0) end();
  });
}
