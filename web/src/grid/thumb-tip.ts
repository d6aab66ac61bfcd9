// Loaded when the scrollbar is first pressed.
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
 * @param pressedRow the row at the upper edge when the scrollbar was pressed
 */
export function showRowWhileDragging(
  scroller: HTMLElement,
  layer: HTMLElement,
  position: Position,
  pressedRow: number,
): void {
  const tip = makeElement("thumb-tip");
  tip.setAttribute("aria-hidden", "true");
  tip.hidden = true;
  layer.append(tip);
  const dragging = new AbortController();
  const { signal } = dragging;
  const end = (): void => {
    dragging.abort();
    tip.remove();
  };
  const onScroll = () => {
    const { topRow, numRows, pageRows, headerHeightPx } = position;
    if (numRows < MIN_PAGES * pageRows) return;
    if (tip.hidden && topRow === pressedRow) return;
    tip.hidden = false;
    tip.textContent = `Row ${formatCount(Math.floor(topRow) + 1)}`;
    const { scrollTop, scrollHeight, clientHeight } = scroller;
    const fraction = scrollTop / Math.max(1, scrollHeight - clientHeight);
    const yPx = HALF_PX + fraction * (clientHeight - 2 * HALF_PX);
    const top = Math.max(headerHeightPx + 4, Math.min(yPx - HALF_PX, clientHeight - 30));
    tip.style.transform = `translateY(${top}px)`;
  };
  scroller.addEventListener("scroll", onScroll, { signal });
  for (const type of ["pointerdown", "pointerup", "pointercancel"]) {
    scroller.addEventListener(type, end, { signal });
  }
  // A release outside the browser window is not reported.
  const onMove = ({ buttons }: PointerEvent) => {
    if (buttons === 0) end();
  };
  scroller.addEventListener("pointermove", onMove, { signal });
}
