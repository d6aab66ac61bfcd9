/**
 * Scroll arithmetic, without a DOM.
 *
 * `topRow` (a float64: row index and fraction) is the only truth of the vertical position. The
 * native scrollbar is an input device for it: browsers cannot lay out a billion rows, so the
 * scrolled height is capped and mapped. Small movements are 1:1 in pixels, long drags of the
 * thumb go by proportion, and whenever scrolling rests the thumb is put where it belongs.
 *
 * Near both ends the map is 1:1 as well, so that the first and last rows are where the scrollbar
 * ends, however one gets there.
 */

/** The content and the viewport of a scroller. */
export interface ScrollGeometry {
  numRows: number;
  rowHeightPx: number;
  /** The height rows are drawn in, in CSS px. */
  viewportPx: number;
}

/** A position, and the scrollbar's position that it was last compared with. */
export interface ScrollPosition {
  /** The row at the upper edge and the fraction of it that is above the edge. */
  topRow: number;
  scrollTopPx: number;
}

/** Layout breaks beyond 16.7 million px in Blink, painting beyond 6 to 17 million in Gecko. */
export const MAX_SPACER_PX = 8_000_000;
/** The part at each end of the scrollbar that maps 1:1. */
export const EDGE_PX = 200_000;
/** Positions are multiples of Blink's layout unit within a row, so that rounding cannot add up. */
const UNITS_PER_PX = 64;

/** The height of the scrolled content, in px. */
export function spacerPx({ numRows, rowHeightPx }: ScrollGeometry): number {
  return Math.min(numRows * rowHeightPx, MAX_SPACER_PX);
}

/** The largest `topRow`: the last row ends at the lower edge. */
export function maxTopRow({ numRows, rowHeightPx, viewportPx }: ScrollGeometry): number {
  return Math.max(0, numRows - viewportPx / rowHeightPx);
}

/** `topRow` brought into range. */
export function clampTopRow(geometry: ScrollGeometry, topRow: number): number {
  return Math.max(0, Math.min(topRow, maxTopRow(geometry)));
}

/** Where the scrollbar belongs for a `topRow`, in px. */
export function scrollTopFor(geometry: ScrollGeometry, topRow: number): number {
  const { tallPx, shortPx, slope } = extents(geometry);
  const fromTopPx = topRow * geometry.rowHeightPx;
  if (slope === 1 || fromTopPx <= EDGE_PX) return Math.min(fromTopPx, shortPx);
  const fromEndPx = tallPx - fromTopPx;
  if (fromEndPx <= EDGE_PX) return shortPx - Math.max(0, fromEndPx);
  return EDGE_PX + (fromTopPx - EDGE_PX) / slope;
}

/** The `topRow` that the scrollbar's position stands for: the inverse of {@link scrollTopFor}. */
export function topRowFor(geometry: ScrollGeometry, scrollTopPx: number): number {
  const { tallPx, shortPx, slope } = extents(geometry);
  const { rowHeightPx } = geometry;
  if (slope === 1 || scrollTopPx <= EDGE_PX) return scrollTopPx / rowHeightPx;
  const fromEndPx = shortPx - scrollTopPx;
  if (fromEndPx <= EDGE_PX) return (tallPx - Math.max(0, fromEndPx)) / rowHeightPx;
  return (EDGE_PX + (scrollTopPx - EDGE_PX) * slope) / rowHeightPx;
}

/**
 * The position after the scrollbar moved.
 *
 * @param isGesture whether a wheel or a touch moved it: those are small at any speed, whereas a
 *   thumb that is dragged by one px of the screen moves thousands
 */
export function scrolledTo(
  geometry: ScrollGeometry,
  position: ScrollPosition,
  scrollTopPx: number,
  isGesture: boolean,
): ScrollPosition {
  const movedPx = scrollTopPx - position.scrollTopPx;
  // Also how the grid's own corrections of the scrollbar come back, to be ignored.
  if (movedPx === 0) return position;
  const { shortPx, slope } = extents(geometry);
  const isAtEnd = scrollTopPx <= 0 || scrollTopPx >= shortPx;
  const isSmall = isGesture || Math.abs(movedPx) < shortPx / (2 * geometry.viewportPx);
  if (slope === 1 || isAtEnd || !isSmall) {
    return { topRow: clampTopRow(geometry, topRowFor(geometry, scrollTopPx)), scrollTopPx };
  }
  return { topRow: movedBy(geometry, position.topRow, movedPx), scrollTopPx };
}

/** `topRow` moved by a distance in px, exactly to 1/64 px, and kept in range. */
export function movedBy(geometry: ScrollGeometry, topRow: number, distancePx: number): number {
  const { rowHeightPx } = geometry;
  const wholeRow = Math.floor(topRow);
  const withinPx = (topRow - wholeRow) * rowHeightPx + distancePx;
  const snappedPx = Math.round(withinPx * UNITS_PER_PX) / UNITS_PER_PX;
  const rows = Math.floor(snappedPx / rowHeightPx);
  const restPx = snappedPx - rows * rowHeightPx;
  return clampTopRow(geometry, wholeRow + rows + restPx / rowHeightPx);
}

/** `topRow` changed as little as possible so that a row is wholly inside the viewport. */
export function revealRow(geometry: ScrollGeometry, topRow: number, row: number): number {
  const { rowHeightPx, viewportPx } = geometry;
  const lowest = row + 1 - viewportPx / rowHeightPx;
  return clampTopRow(geometry, Math.min(Math.max(topRow, lowest), row));
}

/** The rows that are at least partly visible, `[start, end)`. */
export function visibleRows(
  geometry: ScrollGeometry,
  topRow: number,
): { start: number; end: number } {
  const { numRows, rowHeightPx, viewportPx } = geometry;
  const start = Math.floor(topRow);
  return { start, end: Math.min(numRows, Math.ceil(topRow + viewportPx / rowHeightPx)) };
}

interface Extents {
  /** How far the rows can be moved, in their own px. */
  tallPx: number;
  /** How far the scrollbar can be moved. */
  shortPx: number;
  /** Px of the rows for each px of the scrollbar, between the edges. */
  slope: number;
}

function extents(geometry: ScrollGeometry): Extents {
  const { numRows, rowHeightPx, viewportPx } = geometry;
  const tallPx = Math.max(0, numRows * rowHeightPx - viewportPx);
  const shortPx = Math.max(0, spacerPx(geometry) - viewportPx);
  const slope = tallPx === shortPx ? 1 : (tallPx - 2 * EDGE_PX) / (shortPx - 2 * EDGE_PX);
  return { tallPx, shortPx, slope };
}
